package io.waybill.device;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.device.MappingListener;
import io.waybill.api.tensor.Device;
import io.waybill.tensor.Converters;
import io.waybill.tensor.memory.MappedSegments;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;

/**
 * One converter per device type. The last one registered wins, and removing it does not restore the previous one.
 * Begins with {@link CpuConverter}.
 *
 * <p><b>Threads.</b> Thread-safe. A converter may still be inside a call when {@link #remove} returns.
 *
 * <p>Failures of converters are contained: an exception, or a storage of the wrong size, becomes a
 * {@link RejectedMessageException} of the message.
 *
 * <p><b>Errors.</b> The texts for a missing converter are PyTorch's.
 */
public final class DeviceRegistry implements Converters {

    private final Map<String, GuardedConverter> byType = new ConcurrentHashMap<>();
    private final DeviceConverter cpu = new CpuConverter();
    private final MappedSegments mapped; // null when segments are not reported
    private final DeviceSettings declared;
    private final Object changes = new Object(); // held while a converter comes or goes, never for a message

    /** Creates a registry for converters that are not notified of segments. */
    public DeviceRegistry() {
        this(null, DeviceSettings.NONE);
    }

    /**
     * Creates a registry whose converters are notified of these segments, if they are {@link MappingListener}s.
     *
     * @param declared the worker's devices: tensors for others are refused
     */
    public DeviceRegistry(MappedSegments mapped, DeviceSettings declared) {
        this.mapped = mapped;
        this.declared = declared;
        register(Device.CPU.type(), cpu);
    }

    /** Registers a converter for a type, and returns the previous one. */
    public Optional<DeviceConverter> register(String type, DeviceConverter converter) {
        return register(type, converter, (text, error) -> {});
    }

    /**
     * Registers a converter for a type, and returns the previous one.
     *
     * @param failures is given a text for each failure of the converter, and what it threw; null when it threw nothing
     */
    public Optional<DeviceConverter> register(
            String type, DeviceConverter converter, BiConsumer<String, Throwable> failures) {
        String checked = new Device(type, Device.ANY_INDEX).type();
        GuardedConverter added = new GuardedConverter(checked, converter, failures);
        synchronized (changes) {
            GuardedConverter previous = byType.put(checked, added);
            if (previous != null) {
                previous.endListening(); // first: memory is pinned once
            }
            added.listen(mapped);
            return Optional.ofNullable(previous).map(GuardedConverter::guarded);
        }
    }

    /**
     * Removes this converter if it is the registered one; otherwise another one has replaced it and stays. A {@link MappingListener} has been
     * notified of the end of all segments on return, or did not return in time.
     */
    public void remove(String type, DeviceConverter converter) {
        synchronized (changes) {
            GuardedConverter present = byType.get(type);
            if (present != null && present.guarded() == converter) {
                byType.remove(type);
                present.endListening();
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
        return available(device, "Attempting to send a Tensor with unexpected device type ");
    }

    @Override
    public DeviceConverter forReceiving(Device device) throws RejectedMessageException {
        if (!declared.has(device)) {
            throw new RejectedMessageException(
                    ErrorCode.DEVICE_UNAVAILABLE,
                    "Attempting to receive a Tensor on the unexpected device " + device + "; the devices are "
                            + declared.devicesText());
        }
        return available(device, "Attempting to receive a Tensor with unexpected device type ");
    }

    private DeviceConverter available(Device device, String missing) throws RejectedMessageException {
        GuardedConverter converter = byType.get(device.type());
        if (converter == null) {
            throw new RejectedMessageException(ErrorCode.DEVICE_UNAVAILABLE, missing + device.type());
        }
        Optional<String> reason = converter.unavailable();
        if (reason.isPresent()) {
            throw new RejectedMessageException(
                    ErrorCode.DEVICE_UNAVAILABLE, "device type " + device.type() + " is unavailable: " + reason.get());
        }
        return converter.guarded() == cpu ? cpu : converter;
    }
}
