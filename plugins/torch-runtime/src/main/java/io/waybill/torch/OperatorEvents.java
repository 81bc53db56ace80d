package io.waybill.torch;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.ArchiveWriter;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.PlacementConsumer;
import org.bytedeco.pytorch.RecordFunction;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.RecordScope;

/**
 * The operators that libtorch runs, for listeners. libtorch calls back for each operator of a thread while an
 * {@link Observation} of that thread is open; otherwise it does nothing more than it does without this class.
 *
 * <p><b>How.</b> libtorch's {@code RecordFunctionCallback} is not bound for Java. It is made here in memory, of the two
 * functions that JavaCPP has for functions of Java with the same arguments; libtorch takes a copy of it. Whether it is
 * laid out as libtorch expects is tried when a listener is added.
 *
 * <p><b>Threads.</b> Any. Operators of threads that libtorch starts by itself are not observed.
 */
public final class OperatorEvents {

    private static final ThreadLocal<Observation> CURRENT = new ThreadLocal<>();
    private static final List<OperatorListener> LISTENERS =
            new CopyOnWriteArrayList<>(); // libtorch is one per process, too

    OperatorEvents() {}

    /** Native memory and functions; made when they are first needed, and kept until the process ends. */
    private static final class Callback {

        private static final int START = 0;
        private static final int END = 8;
        private static final int SAMPLING = 16;
        private static final int SCOPES = 24;
        private static final int NEEDS_INPUTS = SCOPES + RecordScope.NUM_SCOPES.value;
        private static final int LENGTH = 64; // more than it has
        private static final List<RecordScope> OBSERVED =
                List.of(RecordScope.FUNCTION, RecordScope.BACKWARD_FUNCTION, RecordScope.USER_SCOPE);

        private static final Begin BEGIN = new Begin().retainReference(); // not the end of an open PointerScope's
        private static final End FINISH = new End().retainReference();
        private static final BytePointer PLAIN = callback(false);
        private static final BytePointer WITH_INPUTS = callback(true);

        /**
         * {@code unique_ptr<ObserverContext>(const RecordFunction&)}: the result is written to where the first argument
         * points.
         */
        private static final class Begin extends ArchiveWriter {
            @Override
            public long call(Pointer result, long function) {
                new LongPointer(result).put(0);
                Observation.begun(function);
                return result.address();
            }
        }

        /** {@code void(const RecordFunction&, ObserverContext*)}. */
        private static final class End extends PlacementConsumer {
            @Override
            public void call(Pointer function, long context) {
                Observation.ended(function.address());
            }
        }

        private static BytePointer callback(boolean needsInputs) {
            BytePointer bytes = new BytePointer(LENGTH).retainReference();
            bytes.fill(0);
            bytes.putLong(START, new LongPointer(BEGIN).get()); // JavaCPP's object begins with the function
            bytes.putLong(END, new LongPointer(FINISH).get());
            bytes.putDouble(SAMPLING, 1);
            OBSERVED.forEach(scope -> bytes.put(SCOPES + scope.value, (byte) 1));
            bytes.put(NEEDS_INPUTS, (byte) (needsInputs ? 1 : 0));
            return bytes;
        }
    }

    /**
     * Adds a listener.
     *
     * @throws IllegalStateException when this libtorch does not notify
     */
    public void listen(OperatorListener listener) {
        requireNotified();
        LISTENERS.add(listener);
    }

    @SuppressWarnings("try")
    private static void requireNotified() {
        List<String> names = new ArrayList<>();
        Observation outer = CURRENT.get();
        try (PointerScope scope = new PointerScope();
                Observation own = new Observation(new Names(names))) {
            torch.ones(1);
        } finally {
            if (outer != null) {
                CURRENT.set(outer);
            }
        }
        if (!names.contains("aten::ones")) {
            throw new IllegalStateException(
                    "libtorch's operators can't be observed: expected aten::ones, and was notified of " + names);
        }
    }

    /** Sees whether libtorch notifies. */
    private record Names(List<String> names) implements OperatorListener.Sink {

        @Override
        public boolean needsSizes() {
            return false;
        }

        @Override
        public int begun(String name, List<List<Long>> sizes) {
            names.add(name);
            return 0;
        }

        @Override
        public void ended(int number) {}
    }

    /** Removes a listener. */
    public void remove(OperatorListener listener) {
        LISTENERS.remove(listener);
    }

    /**
     * Observes the operators of the calling thread until the observation is closed, if a listener wants them: the first
     * one that does. Code that calls libtorch directly calls this first; what runs by {@link NativeOperators} is
     * observed.
     *
     * @return null when they are not observed, or are already
     */
    public Observation observe() {
        if (LISTENERS.isEmpty() || CURRENT.get() != null) {
            return null;
        }
        for (OperatorListener listener : LISTENERS) {
            OperatorListener.Sink sink = listener.begin();
            if (sink != null) {
                return new Observation(sink);
            }
        }
        return null;
    }

    /** A time in which the operators of a thread are observed. Closed by that thread. */
    public static final class Observation implements AutoCloseable {

        private record Running(long function, int number) {}

        /** Any {@code RecordFunction}; there is no constructor for one that is there already. */
        private static final class View extends RecordFunction {

            View() {
                super(1L);
            }

            View at(long function) {
                address = function; // what was made is freed by its own address
                return this;
            }
        }

        /** Unused ones: one costs more than an operator. Not in threads, which would keep the bundle's class loader. */
        private static final Queue<View> VIEWS = new ConcurrentLinkedQueue<>();

        private final View view;
        private final OperatorListener.Sink sink;
        private final Deque<Running> running = new ArrayDeque<>();
        private final long handle;
        private boolean hasFailed;

        private Observation(OperatorListener.Sink sink) {
            View unused = VIEWS.poll();
            this.view = unused == null ? new View() : unused;
            this.sink = sink;
            CURRENT.set(this);
            this.handle = torch.addThreadLocalCallback(sink.needsSizes() ? Callback.WITH_INPUTS : Callback.PLAIN);
        }

        /** Nothing may be thrown through libtorch. */
        private static void begun(long function) {
            Observation observation = CURRENT.get();
            if (observation != null && !observation.hasFailed) {
                try {
                    observation.begin(function);
                } catch (RuntimeException | LinkageError e) {
                    observation.hasFailed = true;
                }
            }
        }

        private void begin(long function) {
            String name = view.at(function).name().getString();
            running.push(new Running(function, sink.begun(name, sink.needsSizes() ? sizes() : List.of())));
        }

        /**
         * Non-tensors, and tensors without dimensions, are left out: libtorch tells them apart by no more than this.
         */
        @SuppressWarnings("try")
        private List<List<Long>> sizes() {
            List<List<Long>> all = new ArrayList<>();
            try (PointerScope scope = new PointerScope()) {
                LongVector inputs = torch.inputSizes(view); // a vector of vectors, by its elements
                for (long i = 0; i < inputs.limit(); i++) {
                    LongVector sizes = inputs.position(i);
                    List<Long> one = new ArrayList<>();
                    for (long d = 0; d < sizes.size(); d++) {
                        one.add(sizes.get(d));
                    }
                    if (!one.isEmpty()) {
                        all.add(one);
                    }
                }
            }
            return all;
        }

        private static void ended(long function) {
            Observation observation = CURRENT.get();
            if (observation == null || observation.hasFailed) {
                return;
            }
            try {
                observation.end(function);
            } catch (RuntimeException | LinkageError e) {
                observation.hasFailed = true;
            }
        }

        /** Ends an operator, and those inside of it whose end did not come. */
        private void end(long function) {
            Running last = running.peek();
            if (last == null || last.function != function && !isRunning(function)) {
                return;
            }
            do {
                last = running.pop();
                sink.ended(last.number);
            } while (last.function != function);
        }

        private boolean isRunning(long function) {
            return running.stream().anyMatch(each -> each.function == function);
        }

        @Override
        public void close() {
            torch.removeCallback(handle);
            if (CURRENT.get() == this) { // not when it is closed again
                VIEWS.add(view);
            }
            CURRENT.remove();
        }
    }
}
