package io.waybill.autograd.graph;

import java.util.Arrays;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * Accumulator of the gradients for the inputs of one node. Each input has a fixed number of contributions, which are
 * added in their order, regardless of the order of arrival: an early one waits. The sum therefore has the same bits in
 * every run.
 *
 * <p>An undefined contribution is null here; the sum of none or of undefined ones is undefined.
 *
 * <p><b>Threads.</b> One at a time: the one that runs the pass. <b>Ownership.</b> Owns the sums and the waiting
 * contributions.
 */
final class InputSlots {

    /** Stands for an undefined contribution that arrived early. */
    private static final Object UNDEFINED = new Object();

    private int inputs;
    private int[] expected = new int[1];
    private int[] added;
    private TensorVector sums; // null before the first contribution
    private Object[][] early; // by input, then by number; null until one arrives early

    /** Announces a contribution to an input, and returns its number there. Only before the first {@link #add}. */
    int expect(int input) {
        if (input >= expected.length) {
            expected = Arrays.copyOf(expected, Math.max(input + 1, 2 * expected.length));
        }
        return expected[input]++;
    }

    /** Ends the announcements, for a node with this many inputs. */
    void seal(int count) {
        inputs = count;
        expected = expected.length < count ? Arrays.copyOf(expected, count) : expected;
        added = new int[expected.length];
    }

    /**
     * Adds a contribution. Grad mode is off.
     *
     * @param gradient gradient, which the caller owns; null if undefined
     */
    void add(int input, int number, Tensor gradient) {
        if (number != added[input]) {
            keepEarly(input, number, gradient);
            return;
        }
        addNext(input, gradient);
        if (early != null && early[input] != null) {
            addEarly(input);
        }
    }

    private void addEarly(int input) {
        Object[] waiting = early[input];
        while (added[input] < waiting.length && waiting[added[input]] != null) {
            int number = added[input];
            Tensor gradient = waiting[number] == UNDEFINED ? null : (Tensor) waiting[number];
            addNext(input, gradient);
            waiting[number] = null;
            Pointers.free(gradient);
        }
    }

    private void keepEarly(int input, int number, Tensor gradient) {
        if (early == null) {
            early = new Object[expected.length][];
        }
        if (early[input] == null) {
            early[input] = new Object[expected[input]];
        }
        early[input][number] = gradient == null ? UNDEFINED : Pointers.keep(gradient);
    }

    private void addNext(int input, Tensor gradient) {
        added[input]++;
        if (gradient == null) {
            return;
        }
        if (sums == null) {
            sums = Pointers.own(new TensorVector(inputs));
        }
        Tensor before = sums.get(input);
        if (!before.defined()) {
            sums.put(input, gradient);
            return;
        }
        Tensor sum = sum(before, gradient);
        sums.put(input, sum);
        Pointers.free(sum);
    }

    /** Returns the sum as a new tensor. libtorch adds a sparse one to a dense one only in this order. */
    static Tensor sum(Tensor first, Tensor second) {
        return Pointers.own(first.is_sparse() && !second.is_sparse() ? second.add(first) : first.add(second));
    }

    /** Returns the number of elements of all sums. */
    long elements() {
        long count = 0;
        for (int i = 0; sums != null && i < inputs; i++) {
            Tensor sum = sums.get(i);
            count += sum.defined() ? sum.numel() : 0;
        }
        return count;
    }

    /** Removes and returns the sums of all inputs, which the caller frees. */
    TensorVector take() {
        TensorVector taken = sums == null ? Pointers.own(new TensorVector(inputs)) : sums;
        sums = null;
        return taken;
    }

    void free() {
        Pointers.free(sums);
        sums = null;
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
