package io.waybill.api.device;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.service.component.annotations.ComponentPropertyType;

/** Device type that a {@link DeviceConverter} serves: service property {@code waybill.converts.device}. */
@ComponentPropertyType
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface ConvertsDevice {

    /** Prefix of the service property. */
    String PREFIX_ = "waybill.";

    /** Returns the type's name in lower case, such as {@code cuda}. */
    String value();
}
