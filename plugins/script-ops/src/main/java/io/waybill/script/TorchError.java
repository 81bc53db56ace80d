package io.waybill.script;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;

/** libtorch's errors, which reach Java as bare {@link RuntimeException}s. */
final class TorchError {

    /** Where PyTorch's message ends and the C++ stack begins. */
    private static final String STACK = "\nException raised from ";

    private static final String NO_MEMORY = "DefaultCPUAllocator: ";

    private TorchError() {}

    /** The refusal that stands for an error of libtorch's; any other exception is thrown as it is. */
    static RejectedMessageException refusal(RuntimeException error) {
        if (error.getClass() != RuntimeException.class || error.getMessage() == null) {
            throw error;
        }
        String text = error.getMessage();
        int end = text.indexOf(STACK);
        if (end >= 0) {
            text = text.substring(0, end);
        }
        ErrorCode code =
                text.contains(NO_MEMORY) || text.equals("std::bad_alloc") ? ErrorCode.DEVICE_FULL : ErrorCode.REFUSED;
        return new RejectedMessageException(code, text, error);
    }
}
