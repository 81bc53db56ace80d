package io.waybill.handling;

import io.waybill.api.ErrorCode;
import io.waybill.api.RejectedMessageException;
import io.waybill.api.Value;
import java.util.Locale;

/** Picks named fields and checks their kind. */
final class Fields {

    private Fields() {}

    /** The field of a dict. */
    static Value require(Value fields, String name) throws RejectedMessageException {
        if (!(fields instanceof Value.Dict dict)) {
            throw malformed("the payload has no named fields, and the field " + name + " was asked for");
        }
        return present(dict.entries().get(Value.of(name)), name);
    }

    /** The value, unless it is null. */
    static Value present(Value value, String name) throws RejectedMessageException {
        if (value == null) {
            throw malformed("the field " + name + " is missing");
        }
        return value;
    }

    static <T extends Value> T as(Value value, String name, Class<T> kind) throws RejectedMessageException {
        if (!kind.isInstance(value)) {
            throw malformed("the field " + name + " must be of kind " + word(kind) + ", and is of kind "
                    + word(value.getClass()));
        }
        return kind.cast(value);
    }

    private static String word(Class<?> kind) {
        return kind.getSimpleName().toLowerCase(Locale.ROOT).replaceFirst("^of", "");
    }

    private static RejectedMessageException malformed(String text) {
        return new RejectedMessageException(ErrorCode.MALFORMED_BODY, text);
    }
}
