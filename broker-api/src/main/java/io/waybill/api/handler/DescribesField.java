package io.waybill.api.handler;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** An argument or a result field of an operation, within {@link DescribesOperation}. */
@Retention(RetentionPolicy.RUNTIME)
@Target({})
public @interface DescribesField {

    /** Returns the name of the field in the message. */
    String name();

    /** Returns the type of its value. */
    FieldType type();

    /** Returns whether messages may lack it. */
    boolean optional() default false;

    /** Returns a sentence about it. */
    String text() default "";
}
