package io.waybill.python.link;

import io.waybill.api.Value;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import io.waybill.python.wire.CallFrame;
import io.waybill.python.wire.FramedMessage;
import io.waybill.python.wire.HandleTable;
import io.waybill.python.wire.Hello;
import io.waybill.python.wire.Regions;
import io.waybill.python.wire.SegmentParts;
import io.waybill.python.wire.SocketFrame;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** First agreement between a process and the gateway. Stateless. */
final class Welcomes {

    private static final Logger LOG = System.getLogger(Welcomes.class.getName());

    private Welcomes() {}

    /**
     * Opens the files that a process shares with the gateway; without regions if they can't be opened here, and without
     * parts if the process can't open the home.
     */
    static CallFrame.Shared shared(Hello hello, Broker broker) {
        // before any file is open, because it fails if the broker is revoked
        Optional<Path> directory = broker.directory();
        Regions regions = null;
        if (hello.hasMemfds()) {
            try {
                regions = Regions.open(hello.pid(), hello.out(), hello.in());
            } catch (IOException e) {
                LOG.log(
                        Level.WARNING,
                        "Large tensors of {0} (pid {1}) travel through its socket, because its memory can''t be opened: {2}",
                        hello.name().isEmpty() ? "a pool process" : hello.name(),
                        Long.toString(hello.pid()),
                        e.getMessage());
            }
        }
        SegmentParts parts = new SegmentParts(hello.parts() && regions != null && seesHome(hello.pid(), directory));
        return new CallFrame.Shared(
                regions, parts, new HandleTable(), size -> broker.buffers().allocate(size));
    }

    /** Returns whether the home's files have the same paths in a process, which may have another root. */
    private static boolean seesHome(long pid, Optional<Path> directory) {
        try {
            return directory.isPresent()
                    && Files.isSameFile(
                            Path.of("/proc/" + pid + "/root" + directory.get().toRealPath()), directory.get());
        } catch (IOException e) {
            return false;
        }
    }

    /**
     * Returns the frame of a WELCOME.
     *
     * @param byValue whether calls may contain code
     * @param path entries before the process's own import path
     * @param reload whether the process leaves after a change of a file that it imported from there
     */
    static ByteBuffer frame(
            Broker broker, CallFrame.Shared shared, boolean byValue, List<String> path, boolean reload) {
        Incarnation self = broker.self();
        Map<Value, Value> fields = new LinkedHashMap<>();
        fields.put(Value.of("protocol"), Value.of(Hello.PROTOCOL));
        fields.put(Value.of("worker"), Value.of(self.worker().id()));
        fields.put(Value.of("name"), Value.of(self.worker().name()));
        fields.put(Value.of("epoch"), Value.of(self.epoch()));
        broker.directory()
                .ifPresent(directory -> fields.put(
                        Value.of("home"),
                        Value.of(directory.getParent().getParent().toString())));
        fields.put(Value.of("regions"), Value.of(shared.regions() != null));
        fields.put(Value.of("parts"), Value.of(shared.parts().areUsable()));
        fields.put(Value.of("part_min"), Value.of(SegmentParts.MIN_BYTES));
        fields.put(Value.of("max_frame"), Value.of(SocketFrame.MAX_BODY));
        fields.put(Value.of("inline_max"), Value.of(FramedMessage.INLINE_MAX));
        fields.put(Value.of("by_value"), Value.of(byValue));
        fields.put(
                Value.of("path"), new Value.Items(path.stream().map(Value::of).toList()));
        fields.put(Value.of("reload"), Value.of(reload));
        fields.put(Value.of("roots"), Value.of(true));
        return SocketFrame.of(SocketFrame.Kind.WELCOME, new Value.Dict(fields));
    }
}
