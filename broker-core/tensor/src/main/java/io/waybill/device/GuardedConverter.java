package io.waybill.device;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.DeviceStream;
import io.waybill.api.device.MappingListener;
import io.waybill.api.device.MemorySharing;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.TensorBuffers;
import io.waybill.host.Threads;
import io.waybill.host.failure.ForeignErrors;
import io.waybill.tensor.memory.MappedSegments;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;

/**
 * Boundary around a bundle's converter: any exception, and any result that is no storage of the right size, costs the
 * message {@link ErrorCode#DEVICE_LOST} and nothing else.
 *
 * <p><b>Threads.</b> As its converter. <b>Errors.</b> {@link RejectedMessageException} only. A refused storage is
 * released.
 */
final class GuardedConverter implements DeviceConverter, MemorySharing {

    private final String type;
    private final DeviceConverter guarded;
    private final BiConsumer<String, Throwable> failures;
    private final AtomicInteger sending = new AtomicInteger();
    private final AtomicInteger receiving = new AtomicInteger();
    // Written by the thread that removes it, before it reads the counts; read by threads that use it, after they
    // counted.
    private volatile Stage stage = Stage.PRESENT;
    private MappedSegments.Registration listening; // guarded by the registry; null when it does not listen

    GuardedConverter(String type, DeviceConverter guarded, BiConsumer<String, Throwable> failures) {
        this.failures = failures;
        this.type = type;
        this.guarded = guarded;
    }

    private enum Stage {
        PRESENT,
        LEAVING,
        GONE
    }

    DeviceConverter guarded() {
        return guarded;
    }

    /**
     * Counts in a message that is sent; returns false when the converter has left: the caller then finds another one.
     */
    boolean beginSending() {
        sending.incrementAndGet();
        if (stage != Stage.GONE) {
            return true;
        }
        sending.decrementAndGet();
        return false;
    }

    void endSending() {
        sending.decrementAndGet();
    }

    /** Counts in a message that is received; returns false when the converter is leaving. */
    boolean beginReceiving() {
        receiving.incrementAndGet();
        if (stage == Stage.PRESENT) {
            return true;
        }
        receiving.decrementAndGet();
        return false;
    }

    void endReceiving() {
        receiving.decrementAndGet();
    }

    /** Begins the removal: it receives no more messages, and sends the responses to the messages that it received. */
    void leave() {
        stage = Stage.LEAVING;
    }

    /** Ends the converter: it sends no more messages either. */
    void end() {
        stage = Stage.GONE;
    }

    /** Returns the number of received messages that use it. */
    int received() {
        return receiving.get();
    }

    /** Returns the number of messages that use it. */
    int uses() {
        return receiving.get() + sending.get();
    }

    boolean isUsed() {
        return uses() > 0;
    }

    /** Notifies the converter of segments from now on, if it listens. */
    void listen(MappedSegments mapped) {
        if (mapped != null && guarded instanceof MappingListener listener) {
            listening = mapped.listen("the converter for " + type, listener, failures);
        }
    }

    /** Notifies the converter of the end of all segments, and waits for it, up to a limit. */
    void endListening() {
        if (listening != null) {
            listening.close();
            listening = null;
        }
    }

    @Override
    public Optional<String> unavailable() {
        try {
            Optional<String> reason = withoutInterrupt(guarded::unavailable);
            return reason == null ? Optional.of(charged(returnedNull("unavailable()"), null)) : reason;
        } catch (Throwable e) { // the boundary around a converter
            return Optional.of(charged(threw("unavailable()", e), e));
        }
    }

    @Override
    public List<DeviceStream> streams(Device device) throws RejectedMessageException {
        return call("streams", () -> {
            List<DeviceStream> streams = guarded.streams(device);
            return streams == null ? null : requireOn(device, streams);
        });
    }

    private static List<DeviceStream> requireOn(Device device, List<DeviceStream> streams) {
        List<DeviceStream> found = List.copyOf(streams); // with a null in it, it throws
        for (DeviceStream stream : found) {
            if (!isOn(device, stream.device())) {
                throw new IllegalArgumentException(
                        "expected streams of " + device + ", found one of " + stream.device());
            }
        }
        return found;
    }

    private static boolean isOn(Device expected, Device found) {
        return expected.type().equals(found.type())
                && (expected.index() == Device.ANY_INDEX || expected.index() == found.index());
    }

    @Override
    public Optional<Storage> prepareForSending(Storage storage, List<DeviceStream> streams, TensorBuffers buffers)
            throws RejectedMessageException {
        Optional<Storage> copy = call("prepareForSending", () -> guarded.prepareForSending(storage, streams, buffers));
        if (copy.isPresent()) {
            checkSize("prepareForSending", copy.get(), storage, false);
        }
        return copy;
    }

    @Override
    public Storage allocateForReceiving(Storage arrived, Device target, List<DeviceStream> streams)
            throws RejectedMessageException {
        Storage placed = call("allocateForReceiving", () -> guarded.allocateForReceiving(arrived, target, streams));
        checkSize("allocateForReceiving", placed, arrived, true);
        checkDevice("allocateForReceiving", placed, target);
        return placed;
    }

    @Override
    public Optional<ByteBuffer> share(Storage storage, List<DeviceStream> streams) throws RejectedMessageException {
        if (!(guarded instanceof MemorySharing sharing)) {
            return Optional.empty();
        }
        Optional<ByteBuffer> handle = call("share", () -> sharing.share(storage, streams));
        int length = handle.map(ByteBuffer::remaining).orElse(1);
        if (length < 1 || length > MAX_HANDLE_BYTES) {
            throw failed("the converter for " + type + " made a handle of " + length + " bytes in share; expected 1 to "
                    + MAX_HANDLE_BYTES);
        }
        return handle;
    }

    @Override
    public Storage open(ByteBuffer handle, Storage shared, Device target, List<DeviceStream> streams)
            throws RejectedMessageException {
        if (!(guarded instanceof MemorySharing sharing)) {
            throw new RejectedMessageException(
                    ErrorCode.DEVICE_UNAVAILABLE,
                    "the sender shares device memory, which the converter for " + type
                            + " here can't open: take this worker out of the sender's tensor.device-sharing");
        }
        Storage opened = call("open", () -> sharing.open(handle, shared, target, streams));
        if (opened == shared) {
            release(opened, "the converter for " + type + " returned from open what stands for the sender's storage");
        }
        checkSize("open", opened, shared, true);
        checkDevice("open", opened, target);
        return opened;
    }

    private void checkSize(String method, Storage made, Storage of, boolean mayBeLarger)
            throws RejectedMessageException {
        String wrong;
        try {
            long found = withoutInterrupt(made::sizeBytes);
            long expected = withoutInterrupt(of::sizeBytes);
            if (found == expected || found > expected && mayBeLarger) {
                return;
            }
            wrong = "the converter for " + type + " made " + found + " bytes of a storage of " + expected + " in "
                    + method;
        } catch (Throwable e) { // the boundary around a storage
            wrong = threw(method + "(), in sizeBytes() of a storage", e);
        }
        release(made, wrong);
    }

    private void release(Storage made, String wrong) throws RejectedMessageException {
        String text = wrong;
        try {
            withoutInterrupt(() -> {
                made.release();
                return made;
            });
        } catch (Throwable e) { // the boundary around a storage
            text += "; its release() threw " + ForeignErrors.describe(e);
        }
        throw failed(text);
    }

    private void checkDevice(String method, Storage placed, Device target) throws RejectedMessageException {
        String wrong;
        try {
            Device found = withoutInterrupt(placed::device);
            if (isOn(target, found)) {
                return;
            }
            wrong = "Tensor was expected to be received on device " + target + ", but got it on " + found;
        } catch (Throwable e) { // the boundary around a storage
            wrong = threw(method + "(), in device() of a storage", e);
        }
        release(placed, wrong);
    }

    /** Call of the converter, or of a storage that it made. */
    @FunctionalInterface
    private interface ConverterCall<T> {
        T run() throws Exception;
    }

    /** Makes a call that is not affected by an interrupt for something else, and leaves none. */
    private static <T> T withoutInterrupt(ConverterCall<T> call) throws Exception {
        boolean pending = Threads.hideInterrupt();
        try {
            return call.run();
        } finally {
            Threads.restoreInterrupt(pending);
        }
    }

    /** Calls the converter: an exception, or a null result, rejects the message. */
    private <T> T call(String method, ConverterCall<T> call) throws RejectedMessageException {
        T result;
        try {
            result = withoutInterrupt(call);
        } catch (Throwable e) { // the boundary around a converter
            throw rejected(method, e);
        }
        if (result == null) {
            throw failed(returnedNull(method));
        }
        return result;
    }

    private RejectedMessageException rejected(String method, Throwable e) {
        if (e instanceof RejectedMessageException rejected) {
            return rejected;
        }
        return new RejectedMessageException(ErrorCode.DEVICE_LOST, charged(threw(method + "()", e), e), e);
    }

    private RejectedMessageException failed(String text) {
        return new RejectedMessageException(ErrorCode.DEVICE_LOST, charged(text, null));
    }

    private String charged(String text, Throwable e) {
        failures.accept(text, e);
        return text;
    }

    private String returnedNull(String method) {
        return "the converter for " + type + " returned null from " + method;
    }

    private String threw(String method, Throwable e) {
        return "the converter for " + type + " threw in " + method + ": " + ForeignErrors.describe(e);
    }
}
