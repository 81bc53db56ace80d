package io.waybill.script.source;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import java.util.List;
import java.util.regex.Pattern;

/** Converts libtorch's errors, which reach Java as bare {@link RuntimeException}s. */
public final class TorchError {

    /** Markers of the C++ stack after PyTorch's message, in both forms. */
    private static final List<String> STACKS = List.of("\nException raised from ", "\nframe #0: ");

    /**
     * Mark of each line in the table of an operator without a kernel for a device: some 10 KB of libtorch's own files.
     */
    private static final String KERNEL = ": registered at ";

    /** Prefix of a source's name in the traces of imported code. */
    private static final String CODE = "File \"code/__torch__/";

    /** Continuation of a compiler's error after the functions of a source. */
    private static final Pattern ROOT =
            Pattern.compile("\\s*'\\w+' is being compiled since it was called from 'Root\\.load'.*", Pattern.DOTALL);

    private static final String NO_MEMORY = "DefaultCPUAllocator: ";

    private TorchError() {}

    /** Converts an error of libtorch to a rejection; rethrows any other exception. */
    public static RejectedMessageException refusal(RuntimeException error) {
        if (error.getClass() != RuntimeException.class || error.getMessage() == null) {
            throw error;
        }
        String text = error.getMessage();
        for (String stack : STACKS) {
            int end = text.indexOf(stack);
            text = end < 0 ? text : text.substring(0, end);
        }
        text = ROOT.matcher(text.replace(CODE, "File \"")).replaceFirst("");
        int table = text.lastIndexOf('\n', text.indexOf(KERNEL));
        text = table < 0 ? text : text.substring(0, table).stripTrailing();
        ErrorCode code =
                text.contains(NO_MEMORY) || text.equals("std::bad_alloc") ? ErrorCode.DEVICE_FULL : ErrorCode.REFUSED;
        return new RejectedMessageException(code, text, error);
    }
}
