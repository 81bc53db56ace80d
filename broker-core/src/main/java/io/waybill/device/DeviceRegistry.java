package io.waybill.device;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.device.DeviceConverter;
import io.waybill.api.tensor.Device;
import io.waybill.tensor.Converters;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * One converter per device type. The last one registered wins, and removing it does not bring back the one before. Begins with
 * {@link CpuConverter}.
 *
 * <p><b>Threads.</b> Thread-safe. A converter may still be inside a call when {@link #remove} returns.
 *
 * <p>What it gives to who sends and receives stands behind a boundary: a converter that throws, or returns what is no storage of the right
 * size, is a {@link RejectedMessageException} there.
 *
 * <p><b>Errors.</b> The texts for a missing converter are PyTorch's.
 */
public final class DeviceRegistry implements Converters {

    private final Map<String, GuardedConverter> byType = new ConcurrentHashMap<>();
    private final DeviceConverter cpu = new CpuConverter();

    public DeviceRegistry() {
        register(Device.CPU.type(), cpu);
    }

    /** Puts a converter in its type's place, and returns the one that was there. */
    public Optional<DeviceConverter> register(String type, DeviceConverter converter) {
        String checked = new Device(type, Device.ANY_INDEX).type();
        return Optional.ofNullable(byType.put(checked, new GuardedConverter(checked, converter)))
                .map(GuardedConverter::guarded);
    }

    /** Empties the type's place if this converter is in it; otherwise another one has taken it and stays. */
    public void remove(String type, DeviceConverter converter) {
        byType.computeIfPresent(type, (key, present) -> present.guarded() == converter ? null : present);
    }

    public Optional<DeviceConverter> find(String type) {
        return Optional.ofNullable(byType.get(type)).map(GuardedConverter::guarded);
    }

    /** Each registered type with why it can't be used here, or with an empty text when it can. Sorted; a copy. */
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
