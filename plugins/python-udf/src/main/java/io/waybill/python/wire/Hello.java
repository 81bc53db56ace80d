package io.waybill.python.wire;

import io.waybill.api.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * First message of a process, about itself.
 *
 * @param role {@link #CLIENT} or {@link #POOL}
 * @param name of the worker; empty for a pool process
 * @param numbered whether another name is acceptable while a live worker has this one: the name with {@code -2},
 *     {@code -3} and so on
 * @param id the requested worker id
 * @param token token of a pool process; empty for a client
 * @param pid pid of the process, in its own namespace
 * @param out memfd that it writes
 * @param in memfd that it reads
 * @param parts whether it can map parts of segments
 * @param serves keys of its operations and types
 * @param member published information, such as its rank in a group; empty for none
 * @param version versions of Python and the client
 */
public record Hello(
        String role,
        String name,
        boolean numbered,
        OptionalInt id,
        String token,
        long pid,
        Regions.Memfd out,
        Regions.Memfd in,
        boolean parts,
        List<String> serves,
        Optional<Value.Dict> member,
        String version) {

    public static final String CLIENT = "client";
    public static final String POOL = "pool";

    /** Version of the protocol. */
    public static final int PROTOCOL = 1;

    /** Max length of a frame before a process is known. */
    public static final int MAX_BODY = 1 << 16;

    private static final List<String> EVERYTHING = List.of("type:*", "*");

    /** Decodes a HELLO. */
    public static Hello of(SocketFrame frame) throws ProtocolException {
        if (frame.kind() != SocketFrame.Kind.HELLO || !(frame.value() instanceof Value.Dict dict)) {
            throw new ProtocolException("a process begins with HELLO and a dict, not with " + frame.kind());
        }
        Map<Value, Value> fields = dict.entries();
        long protocol = number(fields, "protocol", 0);
        if (protocol != PROTOCOL) {
            throw new ProtocolException(
                    "this gateway speaks protocol " + PROTOCOL + ", and the process speaks " + protocol);
        }
        String role = text(fields, "role");
        if (!role.equals(CLIENT) && !role.equals(POOL)) {
            throw new ProtocolException("the role in HELLO is client or pool, not '" + role + "'");
        }
        long id = number(fields, "id", -1);
        if (id < -1 || id > Integer.MAX_VALUE) {
            throw new ProtocolException("the id in HELLO is a worker id, and " + id + " is none");
        }
        return new Hello(
                role,
                text(fields, "name"),
                Value.of(true).equals(fields.get(Value.of("numbered"))),
                id < 0 ? OptionalInt.empty() : OptionalInt.of((int) id),
                text(fields, "token"),
                number(fields, "pid", -1),
                memfd(fields, "out"),
                memfd(fields, "in"),
                Value.of(true).equals(fields.get(Value.of("parts"))),
                serves(fields),
                member(fields),
                text(fields, "version"));
    }

    /** Returns whether the process has memfds. */
    public boolean hasMemfds() {
        return out.descriptor() >= 0 && in.descriptor() >= 0;
    }

    /** Returns a copy with another name. */
    public Hello named(String other) {
        return new Hello(role, other, false, id, token, pid, out, in, parts, serves, member, version);
    }

    private static Regions.Memfd memfd(Map<Value, Value> fields, String key) throws ProtocolException {
        return new Regions.Memfd(number(fields, key, -1), number(fields, key + "_inode", -1));
    }

    private static Optional<Value.Dict> member(Map<Value, Value> fields) throws ProtocolException {
        Value found = fields.get(Value.of("member"));
        if (found == null) {
            return Optional.empty();
        }
        if (found instanceof Value.Dict dict) {
            return Optional.of(dict);
        }
        throw new ProtocolException("member in HELLO is a dict");
    }

    private static List<String> serves(Map<Value, Value> fields) throws ProtocolException {
        Value found = fields.get(Value.of("serves"));
        if (found == null) {
            return EVERYTHING;
        }
        List<String> keys = new ArrayList<>();
        for (Value each : found instanceof Value.Items items ? items.values() : List.of(found)) {
            if (!(each instanceof Value.Text key)) {
                throw new ProtocolException("serves in HELLO is a list of strings");
            }
            keys.add(key.value());
        }
        return keys;
    }

    private static String text(Map<Value, Value> fields, String key) throws ProtocolException {
        Value found = fields.get(Value.of(key));
        if (found == null) {
            return "";
        }
        if (found instanceof Value.Text text) {
            return text.value();
        }
        throw new ProtocolException(key + " in HELLO is a string");
    }

    private static long number(Map<Value, Value> fields, String key, long otherwise) throws ProtocolException {
        Value found = fields.get(Value.of(key));
        if (found == null) {
            return otherwise;
        }
        if (found instanceof Value.Int number) {
            return number.value();
        }
        throw new ProtocolException(key + " in HELLO is an int");
    }
}
