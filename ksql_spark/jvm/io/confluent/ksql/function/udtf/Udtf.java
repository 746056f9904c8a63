package io.confluent.ksql.function.udtf;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** A variant of a table function: it returns a list of rows. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface Udtf {
    String description() default "";

    /** The SQL type of a row, where Java's does not say it. */
    String schema() default "";

    /** The method that says the SQL type of a row. */
    String schemaProvider() default "";
}
