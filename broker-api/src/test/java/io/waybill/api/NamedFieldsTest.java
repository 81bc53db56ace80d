package io.waybill.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.fail;

import com.sun.management.ThreadMXBean;
import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.SparseTensor;
import io.waybill.api.tensor.Storage;
import io.waybill.api.tensor.Tensor;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Fields found in place are those of a decoder that decodes everything, and so are the refusals. */
@Timeout(60)
class NamedFieldsTest {

    private static final int ROUNDS = Integer.getInteger("waybill.fields.rounds", 2_000);
    private static final String[] NAMES = {"a", "b", "ab", "text", "é", "éa", "", "☃☃", "𝄞", "a\ud800"};
    private static final int TAGS = 16;

    private final long seed = Long.getLong("waybill.seed", new Random().nextLong());
    private final Random random = new Random(seed);
    private final Tensor indices = dense(DType.INT64, 2, 3);
    private final Tensor values = dense(DType.FLOAT32, 3, 5);
    private final List<Tensor> tensors = List.of(indices, values, indices);
    private final List<RRef> references = List.of(reference(), reference());

    private static Tensor dense(DType dtype, long... sizes) {
        return Tensor.contiguous(dtype, sizes, proxy(Storage.class, dtype.sizeBytes() * Tensor.elementCount(sizes)));
    }

    private static RRef reference() {
        return proxy(RRef.class, 0);
    }

    /** Nothing here reads elements or fetches values. */
    private static <T> T proxy(Class<T> type, long sizeBytes) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> switch (method.getName()) {
                    case "sizeBytes" -> sizeBytes;
                    case "device" -> Device.CPU;
                    case "equals" -> self == arguments[0];
                    case "hashCode" -> System.identityHashCode(self);
                    case "toString" -> type.getSimpleName();
                    default -> throw new UnsupportedOperationException(method.getName());
                }));
    }

    // ---- the same as a decoder of everything

    @Test
    void findsWhatAPlainDecoderDecodesAndRefusesWhatItRefuses() throws Exception {
        int accepted = 0;
        for (int round = 0; round < ROUNDS; round++) {
            byte[] payload = round % 2 == 0 ? call() : result();
            for (int faults = random.nextInt(3); faults > 0 && payload.length > 0; faults--) {
                payload = mutated(payload);
            }
            String where = "-Dwaybill.seed=" + seed + ", round " + round;
            accepted += round % 2 == 0 ? compareCall(buffer(payload), where) : compareResult(buffer(payload), where);
        }
        assertThat(accepted).as("accepted payloads, seed %d", seed).isBetween(ROUNDS / 4, ROUNDS * 9 / 10);
    }

    private int compareCall(ByteBuffer payload, String where) throws RejectedMessageException {
        Object expected = outcome(() -> encoded(new PlainDecoder(payload, tensors, references).call()));
        assertThat(outcome(() -> encoded(Invocation.decode(payload, tensors, references))))
                .as(where)
                .isEqualTo(expected);
        NamedFields fields = new NamedFields();
        Object opened = outcome(() -> fields.call(payload, tensors, references).isOpen());
        if (!(expected instanceof List)) {
            assertThat(opened).as(where).isEqualTo(expected);
            return 0;
        }
        Map<String, Value> named =
                new PlainDecoder(payload, tensors, references).call().named();
        for (String name : NAMES) {
            compareField(fields, name, () -> present(named.get(name), name), where + ", field " + name);
        }
        return 1;
    }

    private int compareResult(ByteBuffer payload, String where) throws RejectedMessageException {
        Object expected = outcome(() -> encoded(new PlainDecoder(payload, tensors, references).result()));
        assertThat(outcome(() -> {
                    ValueDecoder decoder = new ValueDecoder(payload, tensors, references);
                    Value value = decoder.value();
                    decoder.end();
                    return encoded(value);
                }))
                .as(where)
                .isEqualTo(expected);
        NamedFields fields = new NamedFields();
        Object opened = outcome(
                () -> encoded(fields.result(payload, tensors, references).value()));
        assertThat(opened).as(where).isEqualTo(expected);
        if (!(expected instanceof List)) {
            return 0;
        }
        Value result = new PlainDecoder(payload, tensors, references).result();
        for (String name : NAMES) {
            compareField(fields, name, () -> plainEntry(result, name), where + ", field " + name);
        }
        return 1;
    }

    private static Value plainEntry(Value result, String name) throws RejectedMessageException {
        if (!(result instanceof Value.Dict dict)) {
            throw malformed("the payload has no named fields, and the field " + name + " was asked for");
        }
        return present(dict.entries().get(Value.of(name)), name);
    }

    private void compareField(NamedFields fields, String name, Callable<Value> plain, String where) {
        compare(() -> encoded(fields.value(name)), () -> encoded(plain.call()), where);
        compare(
                () -> fields.text(name),
                () -> as(plain, name, "text", Value.Text.class).value(),
                where);
        compare(
                () -> fields.int64(name),
                () -> as(plain, name, "int", Value.Int.class).value(),
                where);
        compare(
                () -> fields.bool(name),
                () -> as(plain, name, "bool", Value.Bool.class).value(),
                where);
        compare(
                () -> fields.tensor(name),
                () -> as(plain, name, "tensor", Value.OfTensor.class).value(),
                where);
        compare(
                () -> ByteBuffer.wrap(fields.bytes(name)),
                () -> ByteBuffer.wrap(
                        as(plain, name, "binary", Value.Binary.class).value()),
                where);
        compare(
                () -> fields.float64(name),
                () -> plain.call() instanceof Value.Int integer
                        ? (double) integer.value()
                        : as(plain, name, "float", Value.Float.class).value(),
                where);
    }

    private static void compare(Callable<Object> inPlace, Callable<Object> plain, String where) {
        Object found = outcome(inPlace);
        Object expected = outcome(plain);
        if (!found.equals(expected)) { // a description for each of a million comparisons would take seconds
            assertThat(found).as(where).isEqualTo(expected);
        }
    }

    private static <T> T as(Callable<Value> plain, String name, String kind, Class<T> type) throws Exception {
        Value value = plain.call();
        if (!type.isInstance(value)) {
            String found = value instanceof Value.Items
                    ? "list"
                    : value.getClass().getSimpleName().toLowerCase(java.util.Locale.ROOT);
            throw malformed("the field " + name + " must be of kind " + kind + ", and is of kind "
                    + found.replaceFirst("^of", ""));
        }
        return type.cast(value);
    }

    private static Value present(Value value, String name) throws RejectedMessageException {
        if (value == null) {
            throw malformed("the field " + name + " is missing");
        }
        return value;
    }

    private static RejectedMessageException malformed(String text) {
        return new RejectedMessageException(ErrorCode.MALFORMED_BODY, text);
    }

    /** Returns a result, or the code and the text of a refusal. */
    private static Object outcome(Callable<Object> attempt) {
        try {
            return attempt.call();
        } catch (RejectedMessageException e) {
            return e.code() + ": " + e.getMessage();
        } catch (Exception e) {
            throw new AssertionError("a payload is decoded or refused", e);
        }
    }

    /** Returns what a value consists of, so that it can be compared: two sparse tensors are never equal. */
    private static List<Object> encoded(Value value) {
        ValueEncoder encoder = new ValueEncoder().value(value);
        return List.of(ByteBuffer.wrap(encoder.toBytes()), List.copyOf(encoder.tensors()), encoder.references());
    }

    private static List<Object> encoded(Invocation call) {
        ValueEncoder encoder = new ValueEncoder();
        call.encode(encoder);
        return List.of(ByteBuffer.wrap(encoder.toBytes()), List.copyOf(encoder.tensors()), encoder.references());
    }

    // ---- random payloads

    private byte[] call() {
        ValueEncoder encoder = new ValueEncoder();
        encoder.name("text.count", random.nextInt(4) == 0 ? 0x8000 : 0);
        int positional = random.nextInt(3);
        encoder.patchCount(encoder.openCount(), positional);
        for (int i = 0; i < positional; i++) {
            write(encoder, 0);
        }
        int named = count();
        encoder.patchCount(encoder.openCount(), named);
        for (int i = 0; i < named; i++) {
            encoder.text(name());
            write(encoder, 0);
        }
        return encoder.toBytes();
    }

    private byte[] result() {
        ValueEncoder encoder = new ValueEncoder();
        if (random.nextInt(4) == 0) {
            write(encoder, 0);
        } else {
            dict(encoder, 0, 8);
        }
        return encoder.toBytes();
    }

    private int count() {
        return random.nextInt(8) == 0 ? 15 + random.nextInt(6) : random.nextInt(4);
    }

    /** Mostly a name that has not come yet, as far as chance provides. */
    private String name() {
        return random.nextInt(3) == 0 ? NAMES[random.nextInt(NAMES.length - 1)] : "n" + random.nextInt(1 << 20);
    }

    private void dict(ValueEncoder encoder, int depth, int textsOf8) {
        int count = count();
        encoder.patchCount(encoder.openCollection(ValueEncoder.DICT), count);
        for (int i = 0; i < count; i++) {
            if (random.nextInt(8) < textsOf8) {
                encoder.text(name());
            } else {
                write(encoder, depth + 1);
            }
            write(encoder, depth + 1);
        }
    }

    private void write(ValueEncoder encoder, int depth) {
        switch (random.nextInt(depth < 3 ? TAGS : 10)) {
            case 0 -> encoder.value(Value.NONE);
            case 1 -> encoder.bool(random.nextBoolean());
            case 2 -> encoder.int64(random.nextInt(4));
            case 3 -> encoder.float64(random.nextInt(3) == 0 ? Double.longBitsToDouble(random.nextLong()) : 0.5);
            case 4 -> encoder.text(name());
            case 5 -> encoder.binary(ByteBuffer.wrap(new byte[random.nextInt(20)]));
            case 6 -> encoder.value(Value.of(DType.FLOAT32));
            case 7 -> encoder.value(new Value.Complex(random.nextInt(2), -0.0));
            case 8 -> encoder.value(Value.of(random.nextBoolean() ? Device.CPU : new Device("cuda", 1)));
            case 9 -> encoder.raw(ByteBuffer.wrap(new byte[] {ValueEncoder.TENSOR, (byte) random.nextInt(3), 0, 0, 0}));
            case 10 -> encoder.raw(ByteBuffer.wrap(new byte[] {ValueEncoder.RREF, (byte) random.nextInt(2), 0, 0, 0}));
            case 11 -> encoder.raw(ByteBuffer.wrap(sparse()));
            case 12, 13 -> {
                int count = random.nextInt(4);
                encoder.patchCount(
                        encoder.openCollection(random.nextBoolean() ? ValueEncoder.LIST : ValueEncoder.TUPLE), count);
                for (int i = 0; i < count; i++) {
                    write(encoder, depth + 1);
                }
            }
            default -> dict(encoder, depth, 4);
        }
    }

    private byte[] sparse() {
        SparseTensor sparse = new SparseTensor(indices, values, new long[] {2, 3, 5}, random.nextBoolean());
        return new ValueEncoder().value(Value.of(sparse)).toBytes();
    }

    private byte[] mutated(byte[] payload) {
        byte[] changed = payload.clone();
        int at = random.nextInt(payload.length);
        switch (random.nextInt(6)) {
            case 0 -> changed[at] ^= (byte) (1 << random.nextInt(8));
            case 1 -> changed[at] = (byte) random.nextInt(TAGS + 1);
            case 2 -> changed[at] = (byte) random.nextInt();
            case 3 -> changed = Arrays.copyOf(payload, at);
            case 4 -> changed = Arrays.copyOf(payload, payload.length + 1 + random.nextInt(3));
            default -> {
                int from = random.nextInt(payload.length);
                int length = Math.min(random.nextInt(12), payload.length - Math.max(at, from));
                System.arraycopy(payload, from, changed, at, length);
            }
        }
        return changed;
    }

    /** Puts a payload on the heap or outside of it, at the start of a buffer or within one, in either order. */
    private ByteBuffer buffer(byte[] payload) {
        int before = random.nextInt(3);
        int length = before + payload.length + random.nextInt(3);
        ByteBuffer whole = random.nextBoolean() ? ByteBuffer.allocate(length) : ByteBuffer.allocateDirect(length);
        whole.put(before, payload).position(before).limit(before + payload.length);
        ByteBuffer shown = random.nextBoolean() ? whole : whole.slice();
        ByteOrder order = random.nextBoolean() ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN;
        return (random.nextInt(4) == 0 ? shown.asReadOnlyBuffer() : shown).order(order);
    }

    // ---- strings

    @Test
    void takesForUtf8WhatTheJdkTakes() throws RejectedMessageException {
        byte[] text = new byte[6];
        for (int round = 0; round < 1 << 15; round++) {
            random.nextBytes(text);
            if (round % 2 == 0) { // near the limits of each length
                int lead = new int[] {0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5}[random.nextInt(9)];
                int second = new int[] {0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0}[random.nextInt(8)];
                text = new byte[] {(byte) lead, (byte) second, (byte) (0x80 | random.nextInt(64)), text[3], 'a', 'b'};
            }
            if (isAccepted(text) != isUtf8(text)) {
                fail("the JDK's decoder says %s, seed %d: %s", isUtf8(text), seed, Arrays.toString(text));
            }
        }
    }

    private static boolean isAccepted(byte[] text) {
        ByteBuffer bytes = ByteBuffer.allocate(5 + text.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.put(ValueEncoder.TEXT).putInt(text.length).put(text).flip();
        try {
            new NamedFields().result(bytes, List.of(), List.of());
            return true;
        } catch (RejectedMessageException e) {
            if (!e.getMessage().equals("a string at offset 5 is not UTF-8")) {
                throw new AssertionError(e);
            }
            return false;
        }
    }

    private static boolean isUtf8(byte[] text) {
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text));
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }

    // ---- faults anywhere

    @Test
    void refusesAFaultBehindTheFieldThatIsAskedFor() {
        ValueEncoder encoder = new ValueEncoder();
        new Invocation("a.b", List.of(), Map.of("x", Value.of(1))).encode(encoder);
        byte[] tooLong = Arrays.copyOf(encoder.toBytes(), encoder.length() + 2);
        assertThatExceptionOfType(RejectedMessageException.class)
                .isThrownBy(() -> new NamedFields()
                        .call(ByteBuffer.wrap(tooLong), List.of(), List.of())
                        .int64("x"))
                .withMessage("malformed payload at offset 28: 2 bytes are left after the last value")
                .extracting(RejectedMessageException::code)
                .isEqualTo(ErrorCode.MALFORMED_BODY);
    }

    @Test
    void allocatesNothingForListsThatAreNotThere() {
        int length = 1 << 20;
        ByteBuffer lie = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        for (int depth = 0; depth < ValueEncoder.MAX_NESTING; depth++) { // each says that the rest is its elements
            lie.put(ValueEncoder.LIST).putInt(length - lie.position() - Integer.BYTES);
        }
        lie.put((byte) TAGS).rewind();
        outcome(() -> new ValueDecoder(ByteBuffer.wrap(new byte[] {TAGS}), List.of()).value()); // loads what it takes
        ValueDecoder decoder = new ValueDecoder(lie, List.of());
        long before = allocated();
        Object refusal = outcome(decoder::value);
        long bytes = allocated() - before;
        assertThat(refusal).asString().contains("no value has the tag 16");
        assertThat(bytes).as("bytes allocated for 1 MiB of lies").isLessThan(length / 10);
    }

    @Test
    void findsKeysThatComeTwiceAmongMany() {
        for (int count : new int[] {2, 16, 17, 100_000}) {
            ValueEncoder encoder = new ValueEncoder();
            encoder.patchCount(encoder.openCollection(ValueEncoder.DICT), count);
            for (int i = 0; i < count - 1; i++) {
                encoder.text("n" + i).bool(true);
            }
            encoder.text("n0").bool(false);
            assertThatExceptionOfType(RejectedMessageException.class)
                    .as("%d keys", count)
                    .isThrownBy(
                            () -> new NamedFields().result(ByteBuffer.wrap(encoder.toBytes()), List.of(), List.of()))
                    .withMessageContaining("a dict's key comes twice");
        }
    }

    // ---- costs

    @Test
    void allocatesNothingButItsResult() throws RejectedMessageException {
        ValueEncoder encoder = new ValueEncoder();
        Body body = new Body(encoder).openRequest("text.count");
        body.text("text", "to be or not").int64("limit", 7).float64("rate", 0.5).bool("fast", true);
        body.bytes("blob", ByteBuffer.allocate(100)).value("words", Value.list(Value.of("a"), Value.of("déjà vu")));
        ByteBuffer payload = ByteBuffer.allocateDirect(encoder.length()).order(ByteOrder.LITTLE_ENDIAN);
        payload.put(encoder.array(), 0, encoder.length()).flip();
        NamedFields fields = new NamedFields();
        assertThat(bytesEach(() -> {
                    fields.call(payload, List.of(), List.of());
                    return fields.int64("limit") == 7 && fields.float64("rate") == 0.5 && fields.bool("fast");
                }))
                .as("bytes for numbers")
                .isZero();
        assertThat(bytesEach(() -> fields.text("text").length() == 12))
                .as("bytes for a string: itself, and its characters")
                .isBetween(24L, 64L);
        assertThat(bytesEach(() -> fields.bytes("blob").length == 100))
                .as("bytes for 100 bytes")
                .isBetween(100L, 120L);
    }

    private static long bytesEach(Callable<Boolean> once) {
        int rounds = 2_000;
        long before = 0;
        for (int i = 0; i < 2 * rounds; i++) {
            if (i == rounds) {
                before = allocated();
            }
            assertTrue(once);
        }
        return (allocated() - before) / rounds;
    }

    private static void assertTrue(Callable<Boolean> once) {
        try {
            if (!once.call()) {
                throw new AssertionError("another value");
            }
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private static long allocated() {
        return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
    }

    @Test
    void isReadByManyThreads() throws Exception {
        ValueEncoder encoder = new ValueEncoder();
        Body body = new Body(encoder).openResponse();
        for (int i = 0; i < 8; i++) {
            body.text("n" + i, "value " + i);
        }
        ByteBuffer payload = ByteBuffer.allocateDirect(encoder.length()).order(ByteOrder.LITTLE_ENDIAN);
        payload.put(encoder.array(), 0, encoder.length()).flip();
        NamedFields fields = new NamedFields().result(payload, List.of(), List.of());
        List<Thread> threads = new ArrayList<>();
        List<String> wrong = java.util.Collections.synchronizedList(new ArrayList<>());
        for (int t = 0; t < 3; t++) {
            int first = t;
            Thread thread = new Thread(() -> {
                for (int i = first; i < 20_000; i++) {
                    String name = "n" + i % 8;
                    Object found = outcome(() -> fields.text(name));
                    if (!found.equals("value " + i % 8)) {
                        wrong.add(name + ": " + found);
                    }
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertThat(wrong).isEmpty();
    }
}
