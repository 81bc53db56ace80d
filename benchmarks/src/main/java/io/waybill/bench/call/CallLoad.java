package io.waybill.bench.call;

import io.waybill.bench.measure.EchoHandler;
import io.waybill.bench.measure.Figures;
import io.waybill.bench.measure.Phases;
import io.waybill.bench.measure.Work;

/**
 * Calls of a client, which are the same for Waybill and the compared systems.
 *
 * @param sizeBytes size of the request's and the response's content
 * @param handler called handler
 * @param inFlight at 1 one blocking call after the other
 */
public record CallLoad(Form form, int sizeBytes, EchoHandler handler, int inFlight, Timing timing) {

    /** Content of a call. */
    public enum Form {
        /** An operation by name, with one field of bytes, responded to with one: as programs write it. */
        NAMED,
        /** A payload of bytes under a type by number. */
        RAW,
        /** An operation by name, with one field that is a tensor of as many bytes, responded to with it. */
        TENSOR
    }

    /** Durations of the warm-up and of the measurement. */
    public record Timing(int warmUpSeconds, int seconds) {}

    private static final long MAX_PHASE_BYTES = 1L << 30;

    /** @throws IllegalArgumentException when messages have no room for the time of the work */
    public CallLoad {
        if (form == Form.TENSOR && !handler.work().isNone()) {
            throw new IllegalArgumentException(
                    "a call with a tensor: expected a handler without work, found one that works or sleeps; use --call named");
        }
        if (!handler.work().isNone() && sizeBytes < Work.MIN_BYTES) {
            throw new IllegalArgumentException("a message of a handler that works or sleeps: expected at least "
                    + Work.MIN_BYTES + " bytes, found " + sizeBytes);
        }
    }

    Work work() {
        return handler.work();
    }

    /** The phases of a client. A phase ends early after a GiB of messages. */
    Phases phases() {
        return new Phases(timing.warmUpSeconds(), timing.seconds(), MAX_PHASE_BYTES / Math.max(1, sizeBytes));
    }

    CallLoad withHandler(EchoHandler other) {
        return new CallLoad(form, sizeBytes, other, inFlight, timing);
    }

    CallLoad withTiming(Timing other) {
        return new CallLoad(form, sizeBytes, handler, inFlight, other);
    }

    void put(Figures figures) {
        figures.putChoice("call", form.name())
                .put("size_bytes", sizeBytes)
                .putChoice("handler", handler.kind().name())
                .put("work_micros", handler.work().workMicros())
                .put("sleep_micros", handler.work().sleepMicros())
                .put("warm_up_seconds", timing.warmUpSeconds())
                .put("seconds", timing.seconds());
    }

    /** The argument of a process, for {@link #parse}. */
    String argument() {
        return String.join(
                ",",
                form.name(),
                Integer.toString(sizeBytes),
                handler.argument(),
                Integer.toString(inFlight),
                Integer.toString(timing.warmUpSeconds()),
                Integer.toString(timing.seconds()));
    }

    /** Returns the load of an {@link #argument}. */
    static CallLoad parse(String argument) {
        String[] parts = argument.split(",");
        return new CallLoad(
                Form.valueOf(parts[0]),
                Integer.parseInt(parts[1]),
                EchoHandler.parse(parts[2]),
                Integer.parseInt(parts[3]),
                new Timing(Integer.parseInt(parts[4]), Integer.parseInt(parts[5])));
    }
}
