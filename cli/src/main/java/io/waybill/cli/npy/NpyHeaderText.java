package io.waybill.cli.npy;

import io.waybill.api.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;

/** Parser of the text of a header: a Python dict with exactly the keys descr, fortran_order and shape. For one use. */
final class NpyHeaderText {

    private final String text;
    private int at;

    NpyHeaderText(String text) {
        this.text = text;
    }

    NpyHeader parse() throws NpyException {
        ElementType type = null;
        Boolean fortranOrder = null;
        long[] shape = null;
        expect('{');
        while (!skipped('}')) {
            String key = quoted();
            expect(':');
            if (key.equals("descr") && type == null) {
                type = descr();
            } else if (key.equals("fortran_order") && fortranOrder == null) {
                fortranOrder = bool();
            } else if (key.equals("shape") && shape == null) {
                shape = shape();
            } else {
                throw new NpyException("expected 'descr', 'fortran_order' and 'shape' once each in its header, found '"
                        + cut(key) + "'");
            }
            if (!skipped(',')) {
                expect('}');
                break;
            }
        }
        skipBlanks();
        if (at < text.length()) {
            throw unexpected("the header's end");
        }
        if (type == null || fortranOrder == null || shape == null) {
            throw new NpyException("its header lacks one of 'descr', 'fortran_order' and 'shape'");
        }
        return new NpyHeader(type, fortranOrder, shape);
    }

    private ElementType descr() throws NpyException {
        skipBlanks();
        if (at < text.length() && text.charAt(at) == '[') {
            throw new NpyException("expected elements of one number each, found a structured type");
        }
        return ElementType.parse(quoted());
    }

    private boolean bool() throws NpyException {
        skipBlanks();
        if (text.startsWith("True", at)) {
            at += 4;
            return true;
        }
        if (text.startsWith("False", at)) {
            at += 5;
            return false;
        }
        throw unexpected("True or False");
    }

    private long[] shape() throws NpyException {
        List<Long> sizes = new ArrayList<>();
        expect('(');
        while (!skipped(')')) {
            sizes.add(size());
            if (sizes.size() > Tensor.MAX_DIMENSIONS) {
                throw new NpyException("expected at most " + Tensor.MAX_DIMENSIONS + " dimensions, found more");
            }
            if (!skipped(',')) {
                expect(')');
                break;
            }
        }
        return sizes.stream().mapToLong(Long::longValue).toArray();
    }

    private long size() throws NpyException {
        skipBlanks();
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        String digits = text.substring(start, at);
        skipped('L'); // Python 2 syntax
        try {
            return Long.parseLong(digits);
        } catch (NumberFormatException e) {
            at = start;
            throw unexpected("a size from 0 to 2^63 - 1");
        }
    }

    private String quoted() throws NpyException {
        skipBlanks();
        char quote = at < text.length() ? text.charAt(at) : 0;
        int end = quote == '\'' || quote == '"' ? text.indexOf(quote, at + 1) : -1;
        if (end < 0) {
            throw unexpected("a quoted name");
        }
        String content = text.substring(at + 1, end);
        at = end + 1;
        return content;
    }

    private void expect(char wanted) throws NpyException {
        if (!skipped(wanted)) {
            throw unexpected("'" + wanted + "'");
        }
    }

    private boolean skipped(char wanted) {
        skipBlanks();
        if (at < text.length() && text.charAt(at) == wanted) {
            at++;
            return true;
        }
        return false;
    }

    private void skipBlanks() {
        while (at < text.length() && (text.charAt(at) == ' ' || text.charAt(at) == '\n')) {
            at++;
        }
    }

    private NpyException unexpected(String expected) {
        String found = at >= text.length() ? "its end" : "'" + cut(text.substring(at)) + "'";
        return new NpyException("expected " + expected + " at " + at + " of its header, found " + found);
    }

    private static String cut(String shown) {
        return shown.substring(0, Math.min(shown.length(), 20)).replaceAll("\\p{Cntrl}", "?");
    }
}
