package io.waybill.script.source;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.util.List;

/** libtorch's errors, which reach Java as bare {@link RuntimeException}s. */
public final class TorchError {

    /** Where PyTorch's message ends and the C++ stack begins, in either of its forms. */
    private static final List<String> STACKS = List.of("\nException raised from ", "\nframe #0: ");

    private static final String NO_MEMORY = "DefaultCPUAllocator: ";

    private TorchError() {}

    /** The refusal that stands for an error of libtorch's; any other exception is thrown as it is. */
    public static RejectedMessageException refusal(RuntimeException error) {
        if (error.getClass() != RuntimeException.class || error.getMessage() == null) {
            throw error;
        }
        String text = error.getMessage();
        for (String stack : STACKS) {
            int end = text.indexOf(stack);
            text = end < 0 ? text : text.substring(0, end);
        }
        ErrorCode code =
                text.contains(NO_MEMORY) || text.equals("std::bad_alloc") ? ErrorCode.DEVICE_FULL : ErrorCode.REFUSED;
        return new RejectedMessageException(code, text, error);
    }
}
