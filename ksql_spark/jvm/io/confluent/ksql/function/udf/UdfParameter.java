package io.confluent.ksql.function.udf;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A parameter of a function. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.PARAMETER)
public @interface UdfParameter {
    /** Its name. */
    String value() default "";

    String description() default "";

    /** Its SQL type, where Java's does not say it. */
    String schema() default "";
}
