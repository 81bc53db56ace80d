package io.waybill.device;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.MappingListener;
import io.waybill.api.tensor.Device;
import io.waybill.host.Threads;
import io.waybill.tensor.Converters;
import io.waybill.tensor.memory.MappedSegments;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;

/**
 * Registry of one converter per device type. The last one registered wins, and removing it does not restore the
 * previous one. Begins with {@link CpuConverter}.
 *
 * <p><b>Threads.</b> Thread-safe. A message keeps the converter that it began with. A converter that is removed first
 * sends the responses to the messages that it received; while it is {@linkplain #replacing replaced}, other messages
 * wait for the next one.
 *
 * <p>Failures of converters are contained: an exception, or a storage of the wrong size, becomes a
 * {@link RejectedMessageException} of the message.
 *
 * <p><b>Errors.</b> The texts for a missing converter are PyTorch's.
 */
public final class DeviceRegistry implements Converters {

    private static final String NOT_RECEIVED = "Attempting to receive a Tensor with unexpected device type ";
    private static final long STEP_MS = 2;
    /** Max number of steps that a message waits for a converter that is being replaced: a minute. */
    private static final int MAX_STEPS = 30_000;

    private final Map<String, GuardedConverter> byType = new ConcurrentHashMap<>();
    private final List<GuardedConverter> displaced = new ArrayList<>(); // guarded by changes; in use
    private final Set<String> awaited = ConcurrentHashMap.newKeySet(); // types whose next converter is expected
    // Number of times that a converter was registered, or the next one became expected: a message that found none is
    // refused only when neither happened since it read the table.
    private final AtomicInteger arrivals = new AtomicInteger();
    private final DeviceConverter cpu = new CpuConverter();
    private final MappedSegments mapped; // null when segments are not reported
    private final DeviceSettings declared;
    private final Threads threads;
    private final Object changes = new Object(); // held while a converter is added or removed, never for a message
    private final Object steps = new Object(); // notified when a converter is added

    /** Creates a registry for converters that are not notified of segments. */
    public DeviceRegistry(Threads threads) {
        this(null, DeviceSettings.NONE, threads);
    }

    /**
     * Creates a registry whose converters are notified of these segments, if they are {@link MappingListener}s.
     *
     * @param declared the worker's devices: tensors for others are refused
     */
    public DeviceRegistry(MappedSegments mapped, DeviceSettings declared, Threads threads) {
        this.mapped = mapped;
        this.declared = declared;
        this.threads = threads;
        register(Device.CPU.type(), cpu);
    }

    /** Registers a converter for a type, and returns the previous one. */
    public Optional<DeviceConverter> register(String type, DeviceConverter converter) {
        return register(type, converter, (text, error) -> {});
    }

    /**
     * Registers a converter for a type, and returns the previous one.
     *
     * @param failures receiver of a text for each failure of the converter, with its exception, or null when it threw
     * none
     */
    public Optional<DeviceConverter> register(
            String type, DeviceConverter converter, BiConsumer<String, Throwable> failures) {
        String checked = new Device(type, Device.ANY_INDEX).type();
        GuardedConverter added = new GuardedConverter(checked, converter, failures);
        GuardedConverter previous;
        synchronized (changes) {
            previous = byType.put(checked, added);
            if (previous != null) {
                previous.end();
                displaced.removeIf(each -> !each.isUsed());
                displaced.add(previous);
                previous.endListening(); // first: memory is pinned once
            }
            added.listen(mapped);
        }
        arrivals.incrementAndGet(); // before replaced()
        notifyWaiting();
        return Optional.ofNullable(previous).map(GuardedConverter::guarded);
    }

    /**
     * Removes a converter at once: messages in flight may still be inside it. Otherwise like {@link #remove(String,
     * DeviceConverter, Duration)}.
     */
    public void remove(String type, DeviceConverter converter) {
        remove(type, converter, Duration.ZERO);
    }

    /**
     * Removes a converter: it receives no more messages from now on. Waits until the messages that it received have
     * ended, and then the messages that it sends. A {@link MappingListener} has been notified of the end of all
     * segments on return, or did not return in time. If another converter has replaced this one, that one stays.
     *
     * @param limit max time of the wait
     * @return the number of messages that still use it
     */
    public int remove(String type, DeviceConverter converter, Duration limit) {
        long steps = limit.toMillis() / STEP_MS;
        GuardedConverter present = byType.get(type);
        if (present == null || present.guarded() != converter) {
            return removeDisplaced(converter, steps);
        }
        present.leave();
        long left = await(() -> present.received() == 0, steps);
        byType.remove(type, present);
        present.end();
        await(() -> !present.isUsed(), left);
        synchronized (changes) {
            present.endListening();
        }
        return present.uses();
    }

    /** Waits for the messages of a converter that another one has replaced. */
    private int removeDisplaced(DeviceConverter converter, long maxSteps) {
        List<GuardedConverter> leaving;
        synchronized (changes) {
            leaving = displaced.stream()
                    .filter(each -> each.guarded() == converter)
                    .toList();
            displaced.removeAll(leaving);
        }
        await(() -> leaving.stream().noneMatch(GuardedConverter::isUsed), maxSteps);
        return leaving.stream().mapToInt(GuardedConverter::uses).sum();
    }

    /**
     * Announces that the converter for a type is about to be replaced: messages for it wait for the next one, until
     * {@link #replaced}.
     */
    public void replacing(String type) {
        awaited.add(type);
        arrivals.incrementAndGet(); // before remove()
    }

    /** Ends {@link #replacing}. */
    public void replaced(String type) {
        awaited.remove(type);
        notifyWaiting();
    }

    private void notifyWaiting() {
        synchronized (steps) {
            steps.notifyAll();
        }
    }

    /** Waits for a condition; returns the number of steps that are left. */
    private long await(BooleanSupplier condition, long maxSteps) {
        long left = maxSteps;
        boolean interrupted = false;
        while (left > 0 && !condition.getAsBoolean()) {
            interrupted |= !pause();
            left--;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return left;
    }

    /** Waits for a step, or until a converter is added. Returns false when the thread was interrupted. */
    private boolean pause() {
        synchronized (steps) {
            try {
                threads.waitOn(steps, STEP_MS);
                return true;
            } catch (InterruptedException e) {
                return false;
            }
        }
    }

    public Optional<DeviceConverter> find(String type) {
        return Optional.ofNullable(byType.get(type)).map(GuardedConverter::guarded);
    }

    /**
     * Returns each registered type with the reason why it can't be used on this host, or an empty text when it can.
     * Sorted; a copy.
     */
    public Map<String, String> types() {
        Map<String, String> types = new TreeMap<>();
        byType.forEach(
                (type, converter) -> types.put(type, converter.unavailable().orElse("")));
        return types;
    }

    @Override
    public DeviceConverter forSending(Device device) throws RejectedMessageException {
        return begin(device, "Attempting to send a Tensor with unexpected device type ");
    }

    /** Begins the use of a converter, also of one that is being removed, but is waited for. */
    private DeviceConverter begin(Device device, String missing) throws RejectedMessageException {
        if (device.isCpu()) {
            return cpu();
        }
        for (int step = 0; ; step++) {
            int seen = arrivals.get();
            GuardedConverter converter = byType.get(device.type());
            if (converter != null && converter.beginSending()) {
                return available(device, converter, converter::endSending);
            }
            awaitNext(device, seen, step, missing);
        }
    }

    @Override
    public DeviceConverter forReceiving(Device device) throws RejectedMessageException {
        if (device.isCpu()) {
            return cpu();
        }
        requireDeclared(device);
        for (int step = 0; ; step++) {
            int seen = arrivals.get();
            GuardedConverter converter = byType.get(device.type());
            if (converter != null && converter.beginReceiving()) {
                return available(device, converter, converter::endReceiving);
            }
            awaitNext(device, seen, step, NOT_RECEIVED);
        }
    }

    @Override
    public DeviceConverter forResponse(Device device) throws RejectedMessageException {
        requireDeclared(device);
        return begin(device, NOT_RECEIVED);
    }

    private void requireDeclared(Device device) throws RejectedMessageException {
        if (!declared.has(device)) {
            throw new RejectedMessageException(
                    ErrorCode.DEVICE_UNAVAILABLE,
                    "Attempting to receive a Tensor on the unexpected device " + device + "; the devices are "
                            + declared.devicesText());
        }
    }

    /** Returns the converter for host memory: as a rule the built-in one, which needs no guard and is not counted. */
    private DeviceConverter cpu() {
        GuardedConverter converter = byType.get(Device.CPU.type());
        return converter == null || converter.guarded() == cpu ? cpu : converter;
    }

    /** @param seen the number of {@link #arrivals} before the message found no converter */
    private void awaitNext(Device device, int seen, int step, String missing) throws RejectedMessageException {
        boolean isAwaited = awaited.contains(device.type());
        if (seen != arrivals.get()) {
            return; // another one may be registered
        }
        if (!isAwaited) {
            throw new RejectedMessageException(ErrorCode.DEVICE_UNAVAILABLE, missing + device.type());
        }
        boolean interrupted = !pause();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (interrupted || step >= MAX_STEPS) {
            throw new RejectedMessageException(
                    ErrorCode.DEVICE_UNAVAILABLE, missing + device.type() + ": its converter is being replaced");
        }
    }

    private static DeviceConverter available(Device device, GuardedConverter converter, Runnable end)
            throws RejectedMessageException {
        Optional<String> reason = converter.unavailable();
        if (reason.isPresent()) {
            end.run();
            throw new RejectedMessageException(
                    ErrorCode.DEVICE_UNAVAILABLE, "device type " + device.type() + " is unavailable: " + reason.get());
        }
        return converter;
    }

    @Override
    public void sent(DeviceConverter converter) {
        if (converter instanceof GuardedConverter guarded) {
            guarded.endSending();
        }
    }

    @Override
    public void received(DeviceConverter converter) {
        if (converter instanceof GuardedConverter guarded) {
            guarded.endReceiving();
        }
    }
}
