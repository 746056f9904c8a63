package io.confluent.ksql.function.udf;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A variant of a scalar function. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Udf {
    String description() default "";

    /** The SQL type of the result, where Java's does not say it. */
    String schema() default "";

    /** The method that says the SQL type of the result. */
    String schemaProvider() default "";
}
