package io.waybill.autograd.graph;

import java.util.Arrays;
import org.bytedeco.pytorch.Tensor;

/**
 * The gradients for the inputs of one node while they arrive. Each input has a fixed number of contributions, and they are added in their order, whatever the
 * order of arrival: one that is early waits. So the sum has the same bits in every run.
 *
 * <p>An undefined contribution is null here; the sum of none or of undefined ones is undefined.
 *
 * <p><b>Threads.</b> One at a time: the one that runs the pass. <b>Ownership.</b> Of sums and of what waits.
 */
final class InputSlots {

    /** A contribution that arrived early and is undefined. */
    private static final Object UNDEFINED = new Object();

    private int[] expected = new int[1];
    private int[] added = expected;
    private Tensor[] sums = new Tensor[1];
    private Object[][] early; // by input, then by number; null as long as none came early

    /** Announces one more contribution to an input, and returns its number there. Only before the first {@link #add}. */
    int expect(int input) {
        if (input >= expected.length) {
            expected = Arrays.copyOf(expected, Math.max(input + 1, 2 * expected.length));
        }
        return expected[input]++;
    }

    /** Ends the announcements, for a node with this many inputs. */
    void seal(int inputs) {
        expected = Arrays.copyOf(expected, Math.max(inputs, expected.length));
        added = new int[expected.length];
        sums = new Tensor[expected.length];
    }

    /**
     * Adds a contribution. Grad mode is off.
     *
     * @param gradient null when undefined; taken over
     */
    void add(int input, int number, Tensor gradient) {
        if (number != added[input]) {
            keepEarly(input, number, gradient);
            return;
        }
        addNext(input, gradient);
        while (early != null && early[input] != null && added[input] < expected[input]) {
            Object next = early[input][added[input]];
            if (next == null) {
                return;
            }
            early[input][added[input]] = null;
            addNext(input, next == UNDEFINED ? null : (Tensor) next);
        }
    }

    private void keepEarly(int input, int number, Tensor gradient) {
        if (early == null) {
            early = new Object[expected.length][];
        }
        if (early[input] == null) {
            early[input] = new Object[expected[input]];
        }
        early[input][number] = gradient == null ? UNDEFINED : gradient;
    }

    private void addNext(int input, Tensor gradient) {
        added[input]++;
        if (gradient == null) {
            return;
        }
        Tensor before = sums[input];
        if (before == null) {
            sums[input] = gradient;
            return;
        }
        sums[input] = sum(before, gradient);
        Handles.free(before);
        Handles.free(gradient);
    }

    /** Returns the sum as a new tensor. libtorch adds a sparse one to a dense one only in this order. */
    static Tensor sum(Tensor first, Tensor second) {
        return Handles.own(first.is_sparse() && !second.is_sparse() ? second.add(first) : first.add(second));
    }

    /** Takes the sum of an input, null when undefined. The caller frees it. */
    Tensor take(int input) {
        Tensor sum = sums[input];
        sums[input] = null;
        return sum;
    }

    void free() {
        Handles.free(sums);
        if (early == null) {
            return;
        }
        for (Object[] waiting : early) {
            for (int i = 0; waiting != null && i < waiting.length; i++) {
                if (waiting[i] instanceof Tensor gradient) {
                    gradient.releaseReference();
                }
            }
        }
        early = null;
    }
}
