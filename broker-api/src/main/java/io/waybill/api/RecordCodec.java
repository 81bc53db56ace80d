package io.waybill.api;

import io.waybill.api.tensor.DType;
import io.waybill.api.tensor.Device;
import io.waybill.api.tensor.Tensor;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * Converts Java records to dicts and back. Each component is the entry of its name:
 *
 * <table>
 * <caption>Components and values</caption>
 * <tr><th>component</th><th>value</th></tr>
 * <tr><td>{@code boolean}; {@code int}, {@code long}; {@code double}; {@link String}; {@code byte[]}</td>
 * <td>bool; int; float, or int; text; binary</td></tr>
 * <tr><td>an enum</td><td>text, the constant's name</td></tr>
 * <tr><td>{@link Instant}</td><td>int, nanoseconds since 1970</td></tr>
 * <tr><td>{@link Optional}</td><td>its value, or None</td></tr>
 * <tr><td>{@link List}; {@link Map} with keys of {@link String}; another record</td><td>list; dict; dict</td></tr>
 * <tr><td>{@link Tensor}, {@link Device}, {@link DType}, {@link RRef}, {@link Value}</td><td>the same</td></tr>
 * </table>
 *
 * Entries that the record lacks are ignored, and a missing entry is None, so that a record may gain components, of
 * which those that others may not send are optional. A record in a named module must be in a package that the module opens.
 * Stateless, and too slow for the path of a fast call: it reads records by reflection.
 */
public final class RecordCodec {

    private static final long NS_PER_S = 1_000_000_000;

    private RecordCodec() {}

    private record Component(String name, Type type, Method getter) {}

    private record Shape(List<Component> components, Constructor<?> constructor) {}

    private static final ClassValue<Shape> SHAPES = new ClassValue<>() {
        @Override
        protected Shape computeValue(Class<?> type) {
            List<Component> components = new ArrayList<>();
            List<Class<?>> classes = new ArrayList<>();
            for (RecordComponent each : type.getRecordComponents()) {
                each.getAccessor().setAccessible(true);
                components.add(new Component(each.getName(), each.getGenericType(), each.getAccessor()));
                classes.add(each.getType());
            }
            try {
                Constructor<?> constructor = type.getDeclaredConstructor(classes.toArray(Class<?>[]::new));
                constructor.setAccessible(true);
                return new Shape(components, constructor);
            } catch (NoSuchMethodException e) {
                throw new IllegalStateException(e); // each record has it
            }
        }
    };

    /**
     * Returns the record as a dict.
     *
     * @throws IllegalArgumentException if a component is null or of a type that has no value
     */
    public static Value.Dict encode(Record record) {
        Map<Value, Value> entries = new LinkedHashMap<>();
        for (Component component : SHAPES.get(record.getClass()).components()) {
            try {
                Object content = component.getter().invoke(record);
                entries.put(Value.of(component.name()), value(content));
            } catch (ReflectiveOperationException | RuntimeException e) {
                throw new IllegalArgumentException(
                        "no value for the component " + component.name() + " of "
                                + record.getClass().getName() + ": " + e.getMessage(),
                        e);
            }
        }
        return new Value.Dict(entries);
    }

    private static Value value(Object content) {
        if (content instanceof Value value) {
            return value;
        } else if (content instanceof Tensor tensor) {
            return Value.of(tensor);
        } else if (content instanceof Device device) {
            return Value.of(device);
        } else if (content instanceof DType type) {
            return Value.of(type);
        } else if (content instanceof RRef reference) {
            return Value.of(reference);
        } else if (content instanceof Optional<?> optional) {
            return optional.<Value>map(RecordCodec::value).orElse(Value.NONE);
        } else if (content instanceof List<?> list) {
            return new Value.Items(list.stream().map(RecordCodec::value).toList());
        } else if (content instanceof Map<?, ?> map) {
            Map<Value, Value> entries = new LinkedHashMap<>();
            map.forEach((key, each) -> entries.put(Value.of((String) key), value(each)));
            return new Value.Dict(entries);
        } else if (content instanceof Record record) {
            return encode(record);
        }
        return scalar(content);
    }

    private static Value scalar(Object content) {
        if (content instanceof String text) {
            return Value.of(text);
        } else if (content instanceof Boolean bool) {
            return Value.of((boolean) bool);
        } else if (content instanceof Integer || content instanceof Long) {
            return Value.of(((Number) content).longValue());
        } else if (content instanceof Double number) {
            return Value.of((double) number);
        } else if (content instanceof byte[] bytes) {
            return Value.of(bytes);
        } else if (content instanceof Enum<?> constant) {
            return Value.of(constant.name());
        } else if (content instanceof Instant time) {
            return Value.of(Math.addExact(Math.multiplyExact(time.getEpochSecond(), NS_PER_S), time.getNano()));
        }
        throw new IllegalArgumentException(
                content == null ? "it is null" : content.getClass().getName() + " has none");
    }

    /**
     * Returns the record that a dict describes.
     *
     * @throws IllegalArgumentException if the value is no such dict, or the record refuses it; the text names the entry
     */
    public static <T extends Record> T decode(Value value, Class<T> type) {
        return type.cast(record(value, type, ""));
    }

    private static Object record(Value value, Class<?> type, String path) {
        Map<Value, Value> entries = need(value, Value.Dict.class, path).entries();
        Shape shape = SHAPES.get(type);
        Object[] contents = new Object[shape.components().size()];
        for (int i = 0; i < contents.length; i++) {
            Component component = shape.components().get(i);
            Value entry = entries.getOrDefault(Value.of(component.name()), Value.NONE);
            contents[i] =
                    content(entry, component.type(), path.isEmpty() ? component.name() : path + "." + component.name());
        }
        try {
            return shape.constructor().newInstance(contents);
        } catch (InvocationTargetException e) {
            throw new IllegalArgumentException(
                    described(path) + " is no " + type.getSimpleName() + ": "
                            + e.getCause().getMessage(),
                    e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalArgumentException(type.getName() + " can't be created: " + e.getMessage(), e);
        }
    }

    private static Object content(Value value, Type type, String path) {
        if (type instanceof ParameterizedType generic) {
            return container(value, generic, path);
        } else if (type == String.class) {
            return need(value, Value.Text.class, path).value();
        } else if (type == long.class || type == Long.class) {
            return integer(value, path);
        } else if (type == int.class || type == Integer.class) {
            return within(integer(value, path), Math::toIntExact, path);
        } else if (type == boolean.class || type == Boolean.class) {
            return need(value, Value.Bool.class, path).value();
        } else if (type == double.class || type == Double.class) {
            return value instanceof Value.Int number
                    ? (double) number.value()
                    : need(value, Value.Float.class, path).value();
        } else if (type == byte[].class) {
            return need(value, Value.Binary.class, path).value().clone();
        } else if (type == Instant.class) {
            return within(integer(value, path), ns -> Instant.ofEpochSecond(0, ns), path);
        }
        return object(value, (Class<?>) type, path);
    }

    private static Object object(Value value, Class<?> type, String path) {
        if (type == Value.class) {
            return value;
        } else if (type == Tensor.class) {
            return need(value, Value.OfTensor.class, path).value();
        } else if (type == Device.class) {
            return need(value, Value.OfDevice.class, path).value();
        } else if (type == DType.class) {
            return need(value, Value.OfDType.class, path).value();
        } else if (type == RRef.class) {
            return need(value, Value.OfRRef.class, path).value();
        } else if (type.isRecord()) {
            return record(value, type, path);
        } else if (type.isEnum()) {
            return constant(need(value, Value.Text.class, path).value(), type, path);
        }
        throw new IllegalArgumentException("no value is a " + type.getName() + ", which " + described(path) + " is");
    }

    private static Object container(Value value, ParameterizedType type, String path) {
        Type[] arguments = type.getActualTypeArguments();
        Type last = arguments[arguments.length - 1];
        if (type.getRawType() == Optional.class) {
            return value.equals(Value.NONE) ? Optional.empty() : Optional.of(content(value, last, path));
        } else if (type.getRawType() == List.class) {
            List<Object> contents = new ArrayList<>();
            for (Value each : need(value, Value.Items.class, path).values()) {
                contents.add(content(each, last, path + "[" + contents.size() + "]"));
            }
            return List.copyOf(contents);
        } else if (type.getRawType() == Map.class && arguments[0] == String.class) {
            Map<String, Object> contents = new LinkedHashMap<>();
            need(value, Value.Dict.class, path).entries().forEach((key, each) -> {
                String name = need(key, Value.Text.class, path).value();
                contents.put(name, content(each, last, path + "." + name));
            });
            return contents;
        }
        throw new IllegalArgumentException("no value is a " + type + ", which " + described(path) + " is");
    }

    private static Object constant(String name, Class<?> type, String path) {
        for (Object constant : type.getEnumConstants()) {
            if (((Enum<?>) constant).name().equals(name)) {
                return constant;
            }
        }
        throw new IllegalArgumentException(described(path) + " must be one of " + List.of(type.getEnumConstants())
                + ", and is " + (name.length() > 80 ? name.substring(0, 80) : name));
    }

    private static long integer(Value value, String path) {
        return need(value, Value.Int.class, path).value();
    }

    private static <R> R within(long number, Function<Long, R> conversion, String path) {
        try {
            return conversion.apply(number);
        } catch (ArithmeticException | DateTimeException e) {
            throw new IllegalArgumentException(described(path) + " is out of range: " + number, e);
        }
    }

    private static <V extends Value> V need(Value value, Class<V> kind, String path) {
        if (kind.isInstance(value)) {
            return kind.cast(value);
        }
        String found = value.equals(Value.NONE) ? "missing" : "of kind " + kindName(value.getClass());
        throw new IllegalArgumentException(
                described(path) + " must be of kind " + kindName(kind) + ", and is " + found);
    }

    private static String kindName(Class<? extends Value> kind) {
        return kind == Value.Items.class
                ? "list"
                : kind.getSimpleName().replaceFirst("^Of", "").toLowerCase(Locale.ROOT);
    }

    private static String described(String path) {
        return path.isEmpty() ? "the value" : "the entry " + path;
    }
}
