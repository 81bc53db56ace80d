package io.waybill.python.link;

import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import io.waybill.api.ValueDecoder;
import io.waybill.api.ValueEncoder;
import io.waybill.api.broker.Broker;
import io.waybill.api.broker.Incarnation;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What clients say of themselves to all who are in the home, such as which member of which group they are: a file in the directory of the worker that takes part
 * in a client's name. Gateways read those of each other. Stateless.
 */
final class MemberFile {

    /** Max bytes of what a client says. */
    static final int MAX_BYTES = 4096;

    private static final String FILE = "python.member";
    private static final Value EPOCH = Value.of("epoch");
    private static final Value MEMBER = Value.of("member");

    private MemberFile() {}

    /**
     * Shows what a client says of itself, until its worker has ended or {@link #withdraw} is called.
     *
     * @param broker of its worker
     * @throws IOException when that can't be written
     * @throws IllegalArgumentException when it is too long
     */
    static void show(Broker broker, Value.Dict member) throws IOException {
        Optional<Path> directory = broker.directory();
        if (directory.isEmpty()) {
            return;
        }
        Value shown = new Value.Dict(Map.of(EPOCH, Value.of(broker.self().epoch()), MEMBER, member));
        byte[] bytes = new ValueEncoder().value(shown).toBytes();
        if (bytes.length > MAX_BYTES) {
            throw new IllegalArgumentException(
                    "member in HELLO has at most " + MAX_BYTES + " bytes, and not " + bytes.length);
        }
        Path written = directory.get().resolve(FILE + ".new");
        Files.write(written, bytes);
        Files.move(written, directory.get().resolve(FILE), StandardCopyOption.ATOMIC_MOVE);
    }

    /** Shows it no more. */
    static void withdraw(Broker broker) throws IOException {
        if (broker.directory().isPresent()) {
            Files.deleteIfExists(broker.directory().get().resolve(FILE));
        }
    }

    /**
     * Returns what the client says of itself for which a worker takes part; empty for any other worker.
     *
     * @param workers the directory with those of all workers
     */
    static Optional<Value> of(Path workers, Incarnation worker) {
        Path file = workers.resolve(worker.worker().id() + "-" + worker.worker().name())
                .resolve(FILE);
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            return Optional.empty();
        }
        try (SeekableByteChannel channel =
                Files.newByteChannel(file, Set.of(StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS))) {
            byte[] bytes = Channels.newInputStream(channel).readNBytes(MAX_BYTES);
            ByteBuffer content = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
            Value shown = new ValueDecoder(content, List.of()).value();
            return shown instanceof Value.Dict dict
                            && Value.of(worker.epoch()).equals(dict.entries().get(EPOCH))
                    ? Optional.ofNullable(dict.entries().get(MEMBER))
                    : Optional.empty(); // of an earlier incarnation
        } catch (IOException | RejectedMessageException e) {
            return Optional.empty(); // withdrawn meanwhile, or written by something else
        }
    }
}
