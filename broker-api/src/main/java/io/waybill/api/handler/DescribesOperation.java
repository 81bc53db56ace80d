package io.waybill.api.handler;

import io.waybill.api.Message;
import java.lang.annotation.ElementType;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Description of an operation of a {@link MessageHandler}, for its users: {@code waybill operations} shows it, and
 * writes Python functions from it. May be repeated. Read from the class of the handler, of which no subclass inherits
 * it. The broker does not check messages by it: the handler alone decides what it accepts.
 *
 * <p>A description that {@link OperationDescription} refuses, or of a name that the handler does not handle, is a
 * reason to refuse the handler.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@Repeatable(DescribesOperation.All.class)
public @interface DescribesOperation {

    /** Returns a key of the handler, such as {@code text.count}, or an operation that one of its patterns matches. */
    String name();

    /** Returns one sentence: what the operation does. */
    String summary();

    /** Returns the arguments. */
    DescribesField[] arguments() default {};

    /** Returns the record class that the handler passes to {@link Message#record}, for more arguments. */
    Class<? extends Record> argumentsOf() default Record.class;

    /** Returns the fields of the response. */
    DescribesField[] result() default {};

    /** Returns the record class of the response, for more fields of it. */
    Class<? extends Record> resultOf() default Record.class;

    /** Container that the compiler uses for several descriptions. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE)
    @interface All {

        /** Returns the descriptions. */
        DescribesOperation[] value();
    }
}
