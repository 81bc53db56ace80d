package io.waybill.profiler;

import io.waybill.profiler.record.Recording;
import io.waybill.profiler.record.Recordings.OpenEvent;
import io.waybill.torch.NativeTensors;
import io.waybill.torch.OperatorListener;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * Recorder of the operators that libtorch runs in profiled handlers. A node with libtorch has one; a program with
 * libtorch creates one.
 *
 * <p><b>Threads.</b> Any.
 */
public final class OperatorRecorder implements OperatorListener, AutoCloseable {

    private final RemoteProfiler profiler;
    private final NativeTensors natives;

    /**
     * Starts recording.
     *
     * @throws IllegalStateException if libtorch does not report its operators
     */
    public OperatorRecorder(RemoteProfiler profiler, NativeTensors natives) {
        this.profiler = profiler;
        this.natives = natives;
        natives.operatorEvents().listen(this);
    }

    @Override
    public Sink begin() {
        OpenEvent around = profiler.current();
        return around == null ? null : new Inside(around);
    }

    /** The operators inside of an event. */
    private static final class Inside implements Sink {

        private final Recording recording;
        private final Deque<Integer> open = new ArrayDeque<>();

        Inside(OpenEvent around) {
            this.recording = around.recording();
            open.push(around.index());
        }

        @Override
        public boolean needsSizes() {
            return recording.config().reportInputShapes();
        }

        @Override
        public int begun(String name, List<List<Long>> sizes) {
            int index = recording.beginOperator(name, open.peek(), sizes);
            open.push(index < 0 ? open.peek() : index); // without room, inner events belong to the outer one
            return index;
        }

        @Override
        public void ended(int index) {
            open.pop();
            recording.endOperator(index);
        }
    }

    /** Stops recording. */
    @Override
    public void close() {
        natives.operatorEvents().remove(this);
    }
}
