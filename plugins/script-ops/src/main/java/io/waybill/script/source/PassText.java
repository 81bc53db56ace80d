package io.waybill.script.source;

import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Rewrites calls of {@code torch.distributed.autograd} as calls of added functions. */
final class PassText {

    private static final Pattern CALL = Pattern.compile(
            "(?<![\\w.])(?:torch\\s*\\.\\s*distributed\\s*\\.\\s*autograd|dist_autograd)\\s*\\.\\s*(backward|get_gradients)(?=\\s*\\()");
    /** Line that only Python needs. */
    private static final Pattern IMPORT = Pattern.compile(
            "^(import torch\\.distributed\\.autograd as dist_autograd|from torch\\.distributed import autograd as dist_autograd)"
                    + "(?=[ \\t]*$)",
            Pattern.MULTILINE);

    private PassText() {}

    static boolean isNeeded(String masked) {
        return CALL.matcher(masked).find() || IMPORT.matcher(masked).find();
    }

    /** @param used receives the intrinsics that the text uses */
    static String rewritten(String code, Set<Intrinsic> used) {
        String text = RpcText.replaced(IMPORT, "", code);
        Matcher found = CALL.matcher(RpcText.mask(text, true));
        StringBuilder result = new StringBuilder();
        int from = 0;
        while (found.find()) {
            Intrinsic intrinsic = Intrinsic.valueOf(found.group(1).toUpperCase(Locale.ROOT));
            used.add(intrinsic);
            result.append(text, from, found.start()).append(intrinsic.caller());
            from = found.end();
        }
        return result.append(text.substring(from)).toString();
    }
}
