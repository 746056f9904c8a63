package io.confluent.ksql.schema.ksql.types;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** STRUCT. */
public final class SqlStruct extends SqlType {
    private final List<Field> fields;

    private SqlStruct(List<Field> fields) {
        super(
                SqlBaseType.STRUCT,
                fields.stream()
                        .map(Field::toString)
                        .collect(Collectors.joining(", ", "STRUCT<", ">")));
        this.fields = List.copyOf(fields);
    }

    public static Builder builder() {
        return new Builder();
    }

    public List<Field> fields() {
        return fields;
    }

    public Optional<Field> field(String name) {
        return fields.stream().filter(field -> field.name().equals(name)).findFirst();
    }

    /** A field of a STRUCT. */
    public record Field(String name, SqlType type) {
        public static Field of(String name, SqlType type) {
            return new Field(name, type);
        }

        @Override
        public String toString() {
            return "`" + name.replace("`", "``") + "` " + type;
        }
    }

    /** Makes a STRUCT. */
    public static final class Builder {
        private final List<Field> fields = new ArrayList<>();

        public Builder field(String name, SqlType type) {
            return field(Field.of(name, type));
        }

        public Builder field(Field field) {
            fields.add(field);
            return this;
        }

        public Builder fields(Iterable<? extends Field> more) {
            more.forEach(fields::add);
            return this;
        }

        public SqlStruct build() {
            return new SqlStruct(fields);
        }
    }
}
