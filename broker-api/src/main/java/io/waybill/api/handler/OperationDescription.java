package io.waybill.api.handler;

import io.waybill.api.Invocation;
import java.lang.annotation.AnnotationFormatError;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Description of an operation for its users: what it does, its arguments and the fields of its response. It promises
 * nothing: the handler alone decides what it accepts. Immutable.
 *
 * <pre>{@code
 * OperationDescription.of("text.count", "Counts the words of a text.")
 *         .argument("text", FieldType.TEXT, "what is counted")
 *         .result("words", FieldType.INTEGER, "number of words");
 * }</pre>
 *
 * <p><b>Errors.</b> A description is refused with an {@link IllegalArgumentException} that names the part, if a text is
 * too long, contains a control character or half a surrogate pair, or if there are too many fields, or two of one name.
 *
 * @param name key of the handler, such as {@code text.count}; 1 to {@link Invocation#MAX_NAME_BYTES} bytes
 * @param summary one sentence; 1 to {@value #MAX_TEXT_CHARS} chars
 * @param arguments arguments; at most {@value #MAX_FIELDS}
 * @param result fields of the response; at most {@value #MAX_FIELDS}
 */
public record OperationDescription(String name, String summary, List<Field> arguments, List<Field> result) {

    /** Max chars of a sentence. */
    public static final int MAX_TEXT_CHARS = 200;

    /** Max chars of the name of a field. */
    public static final int MAX_FIELD_NAME_CHARS = 100;

    /** Max arguments, and max fields of a response. */
    public static final int MAX_FIELDS = 64;

    /**
     * An argument or a result field.
     *
     * @param name name in the message; 1 to {@value OperationDescription#MAX_FIELD_NAME_CHARS} chars
     * @param optional whether messages may lack it
     * @param text a sentence, of at most {@value OperationDescription#MAX_TEXT_CHARS} chars; may be empty
     */
    public record Field(String name, FieldType type, boolean optional, String text) {

        public Field {
            requireText("the name of a field", name, 1, MAX_FIELD_NAME_CHARS);
            requireText("the text of " + name, text, 0, MAX_TEXT_CHARS);
            if (type == null) {
                throw new IllegalArgumentException(
                        "the type of " + name + " must be one of " + List.of(FieldType.values()) + ", and is missing");
            }
        }
    }

    public OperationDescription {
        requireText("the name of a described operation", name, 1, Invocation.MAX_NAME_BYTES);
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        if (bytes > Invocation.MAX_NAME_BYTES || name.isBlank()) {
            throw new IllegalArgumentException("the name of a described operation has 1 to " + Invocation.MAX_NAME_BYTES
                    + " bytes and is not blank, and this one has " + bytes);
        }
        requireText("the summary", summary, 1, MAX_TEXT_CHARS);
        arguments = checked("arguments", arguments);
        result = checked("result fields", result);
    }

    /** Returns a description without arguments and result fields, to which the other methods add. */
    public static OperationDescription of(String name, String summary) {
        return new OperationDescription(name, summary, List.of(), List.of());
    }

    /** Returns the description with a further required argument. */
    public OperationDescription argument(String name, FieldType type, String text) {
        return withArguments(List.of(new Field(name, type, false, text)));
    }

    /** Returns the description with a further argument that requests may lack. */
    public OperationDescription optionalArgument(String name, FieldType type, String text) {
        return withArguments(List.of(new Field(name, type, true, text)));
    }

    /**
     * Returns the description with an argument for each component of a record, which the handler reads by
     * {@link io.waybill.api.Message#record}: an {@link Optional} is optional, and {@link FieldText} has the sentence.
     */
    public OperationDescription arguments(Class<? extends Record> type) {
        return withArguments(fields(type));
    }

    /** Returns the description with a further field of the response. */
    public OperationDescription result(String name, FieldType type, String text) {
        return withResult(List.of(new Field(name, type, false, text)));
    }

    /** Returns the description with a further field that responses may lack. */
    public OperationDescription optionalResult(String name, FieldType type, String text) {
        return withResult(List.of(new Field(name, type, true, text)));
    }

    /** Returns the description with a field of the response for each component of a record. */
    public OperationDescription result(Class<? extends Record> type) {
        return withResult(fields(type));
    }

    private OperationDescription withArguments(List<Field> more) {
        return new OperationDescription(name, summary, joined(arguments, more), result);
    }

    private OperationDescription withResult(List<Field> more) {
        return new OperationDescription(name, summary, arguments, joined(result, more));
    }

    /**
     * Returns the descriptions that the class of a handler declares by {@link DescribesOperation}, in their order.
     *
     * @throws IllegalArgumentException if one is refused, or an annotation or a record class can't be read
     */
    public static List<OperationDescription> declaredBy(Class<?> handler) {
        try {
            List<OperationDescription> declared = new ArrayList<>();
            for (DescribesOperation each : handler.getAnnotationsByType(DescribesOperation.class)) {
                declared.add(declared(each));
            }
            return List.copyOf(declared);
        } catch (IllegalArgumentException e) {
            throw e;
        } catch (RuntimeException | LinkageError | AnnotationFormatError e) { // a class that it names is missing
            throw new IllegalArgumentException(
                    "the descriptions of operations of " + handler.getName() + " can't be read: " + e, e);
        }
    }

    private static OperationDescription declared(DescribesOperation declared) {
        try {
            return of(declared.name(), declared.summary())
                    .withArguments(fields(declared.arguments()))
                    .arguments(declared.argumentsOf())
                    .withResult(fields(declared.result()))
                    .result(declared.resultOf());
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "the description of operation " + declared.name() + ": " + e.getMessage(), e);
        }
    }

    private static List<Field> fields(DescribesField[] declared) {
        List<Field> fields = new ArrayList<>();
        for (DescribesField each : declared) {
            fields.add(new Field(each.name(), each.type(), each.optional(), each.text()));
        }
        return fields;
    }

    private static List<Field> fields(Class<? extends Record> type) {
        List<Field> fields = new ArrayList<>();
        if (type == Record.class) { // the annotation's default
            return fields;
        }
        for (RecordComponent component : type.getRecordComponents()) {
            Type content = component.getGenericType();
            boolean isOptional = content instanceof ParameterizedType generic && generic.getRawType() == Optional.class;
            FieldText text = component.getAnnotation(FieldText.class);
            fields.add(new Field(
                    component.getName(),
                    FieldType.of(isOptional ? ((ParameterizedType) content).getActualTypeArguments()[0] : content),
                    isOptional,
                    text == null ? "" : text.value()));
        }
        return fields;
    }

    private static List<Field> joined(List<Field> some, List<Field> more) {
        List<Field> all = new ArrayList<>(some);
        all.addAll(more);
        return all;
    }

    private static List<Field> checked(String what, List<Field> fields) {
        if (fields.size() > MAX_FIELDS) {
            throw new IllegalArgumentException(
                    "it has at most " + MAX_FIELDS + " " + what + ", and " + fields.size() + " are given");
        }
        Set<String> names = new HashSet<>();
        for (Field field : fields) {
            if (!names.add(field.name())) {
                throw new IllegalArgumentException("two of its " + what + " are named " + field.name());
            }
        }
        return List.copyOf(fields);
    }

    private static void requireText(String what, String text, int min, int max) {
        int length = text == null ? -1 : text.length();
        if (length < min || length > max) {
            throw new IllegalArgumentException(what + " has " + min + " to " + max + " chars, and this one "
                    + (text == null ? "is missing" : "has " + length));
        }
        for (int i = 0; i < length; i++) {
            char c = text.charAt(i);
            boolean isPair =
                    Character.isHighSurrogate(c) && i + 1 < length && Character.isLowSurrogate(text.charAt(i + 1));
            if (Character.isISOControl(c) || Character.isSurrogate(c) && !isPair) {
                throw new IllegalArgumentException(String.format(
                        Locale.ROOT,
                        "%s is one line of text, and this one has the char 0x%04x at %d",
                        what,
                        (int) c,
                        i));
            }
            i += isPair ? 1 : 0;
        }
    }
}
