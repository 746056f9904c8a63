package io.confluent.ksql.function.udaf;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A static method that makes a variant of an aggregate function. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface UdafFactory {
    String description();

    /** SQL types of the parameters, where Java's do not say them. */
    String[] paramSchema() default "";

    /** The SQL type of the state, where Java's does not say it. */
    String aggregateSchema() default "";

    /** The SQL type of the result, where Java's does not say it. */
    String returnSchema() default "";
}
