package io.waybill.replay.state;

import io.waybill.api.WorkerInfo;
import io.waybill.query.MessageFilter;
import io.waybill.replay.recording.CallRecording;
import io.waybill.replay.recording.RecordedCall;
import io.waybill.wire.MessageBuffer;
import java.io.Closeable;
import java.io.IOException;

/**
 * The calls to one worker that a replay runs, in the order in which the worker began them: the selected calls, and all
 * calls before the last of them, because they may have changed the state of its handlers. A selection therefore changes
 * which responses are compared, but not the responses.
 *
 * <p><b>Threads.</b> One.
 */
public final class CallSchedule implements Closeable {

    /** Unselected calls that run in addition to the selected ones. */
    public enum Before {
        /** All calls that the worker began before the last selected one. */
        ALL,
        /** None: handlers have only the state of the selected calls. */
        NONE
    }

    private final CallRecording.Handled calls;
    private final MessageFilter filter;
    private final StateHistory history;
    private final MessageBuffer requestBuffer = new MessageBuffer();
    private final MessageBuffer responseBuffer = new MessageBuffer();
    private final boolean allAreSelected;
    private long selectedLeft;
    private long handledLeft; // number of further selected calls whose handlers ran

    private CallSchedule(
            CallRecording.Handled calls, MessageFilter filter, Before before, long selectedLeft, long handledLeft) {
        this.calls = calls;
        this.filter = filter;
        this.history = new StateHistory(before);
        this.allAreSelected = handledLeft == 0;
        this.selectedLeft = selectedLeft;
        this.handledLeft = handledLeft;
    }

    /** Opens the schedule for a worker. */
    public static CallSchedule of(CallRecording recording, WorkerInfo worker, MessageFilter filter, Before before)
            throws IOException {
        long selected = 0;
        long handled = 0;
        if (before == Before.ALL && !filter.takesAll()) {
            try (CallRecording.Handled wanted = recording.handled(worker, filter)) {
                for (RecordedCall call = wanted.next(); call != null; call = wanted.next()) {
                    selected++;
                    handled += isHandled(call) ? 1 : 0;
                }
            }
        }
        MessageFilter read = handled == 0 ? filter : MessageFilter.ALL;
        return new CallSchedule(recording.handled(worker, read), filter, before, selected, handled);
    }

    /** Returns the next call; null after the last. */
    public ScheduledCall next() throws IOException {
        while (allAreSelected || selectedLeft > 0) {
            RecordedCall call = calls.next();
            if (call == null) {
                return null;
            }
            boolean isSelected = allAreSelected || isSelected(call);
            boolean isHandled = isHandled(call);
            String unknown =
                    isHandled ? history.before(call.request(), call.response().get()) : "";
            if (isSelected || isHandled && handledLeft > 0) {
                selectedLeft -= isSelected ? 1 : 0;
                handledLeft -= isSelected && isHandled ? 1 : 0;
                return new ScheduledCall(call, isSelected, unknown);
            }
        }
        return null;
    }

    private boolean isSelected(RecordedCall call) {
        return filter.takesCaller(call.request().worker().id())
                && call.isTakenBy(filter, requestBuffer, responseBuffer);
    }

    private static boolean isHandled(RecordedCall call) {
        return call.response().isPresent() && call.response().get().handlerSequence() > 0;
    }

    @Override
    public void close() throws IOException {
        calls.close();
    }
}
