package org.ksqlspark.formats;

import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

import java.util.List;

/**
 * Reads a value of one of several types: as a column's value if it may only be NULL or that, or
 * else, as Connect has it, as a STRUCT with a field for each of them.
 */
record AvroUnionReader(AvroReader[] readers) implements AvroReader {
    static AvroUnionReader of(List<Schema> branches, DataType type, String path) {
        boolean isNullable = branches.size() == 2 && branches.stream().anyMatch(b -> isNull(b));
        StructType struct =
                !isNullable && type instanceof StructType s && isUnionOf(s, branches) ? s : null;
        AvroReader[] readers = new AvroReader[branches.size()];
        for (int i = 0; i < readers.length; i++) {
            Schema branch = branches.get(i);
            if (isNull(branch)) {
                readers[i] = in -> null;
            } else if (struct == null) {
                readers[i] = AvroReader.of(branch, type, path);
            } else {
                readers[i] = alternative(branch, struct, path);
            }
        }
        return new AvroUnionReader(readers);
    }

    private static boolean isNull(Schema branch) {
        return branch.getType() == Schema.Type.NULL;
    }

    private static boolean isUnionOf(StructType struct, List<Schema> branches) {
        List<String> names = branches.stream().map(Schema::getName).toList();
        return List.of(struct.fieldNames()).stream()
                .allMatch(name -> ColumnNames.first(names, name) >= 0);
    }

    private static AvroReader alternative(Schema branch, StructType struct, String path) {
        int size = struct.size();
        int at = ColumnNames.first(List.of(struct.fieldNames()), branch.getName());
        if (at < 0) {
            return in -> {
                in.skip(branch);
                return new GenericInternalRow(size);
            };
        }
        AvroReader read = AvroReader.of(branch, struct.fields()[at].dataType(), path);
        return in -> {
            Object[] values = new Object[size];
            values[at] = read.read(in);
            return new GenericInternalRow(values);
        };
    }

    @Override
    public Object read(AvroInput in) {
        return readers[in.index(readers.length)].read(in);
    }
}
