package org.ksqlspark.formats;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.WireFormat;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A row as a Protobuf message, in Confluent's frame or alone. NULL is left out; where the schema
 * cannot tell that from a default, readers see the default. Fields that are not columns are left
 * out. A row that does not fit the schema is {@link Unwritable}.
 */
public final class ProtobufEncoder extends RowToBytes {
    private static final long MICROS = 1000;
    private static final long SECOND_MICROS = 1_000_000;
    private static final int NANOS_PER_MICRO = 1000;
    private static final int NANOS_PER_MILLI = 1_000_000;

    private final String argument;
    private transient byte[] frame;
    private transient MessageWriter writer;

    /**
     * @param argument a JSON object: "schema" is a .proto file, "references" those that it imports,
     *     "path" the place of the message in it, "id" its id; without an id there is no frame
     */
    public ProtobufEncoder(StructType row, String argument) {
        super("encode_protobuf", row);
        this.argument = argument;
        writer(); // says now what does not fit
    }

    private MessageWriter writer() {
        if (writer == null) {
            JsonNode given = ProtobufDecoder.json(argument);
            List<String> references = new ArrayList<>();
            given.path("references").forEach(text -> references.add(text.asText()));
            List<Integer> path = new ArrayList<>();
            given.path("path").forEach(index -> path.add(index.asInt()));
            ProtobufSchema file = new ProtobufSchema(given.path("schema").asText(), references);
            frame = given.has("id") ? frame(given.path("id").asInt(), path) : new byte[0];
            writer = new MessageWriter(file.message(path), schema, "the row");
        }
        return writer;
    }

    private static byte[] frame(int id, List<Integer> path) {
        byte[] bytes = new byte[16 + 5 * path.size()];
        CodedOutputStream out = CodedOutputStream.newInstance(bytes);
        try {
            out.write((byte) 0);
            for (int shift = 24; shift >= 0; shift -= 8) {
                out.write((byte) (id >>> shift));
            }
            if (path.equals(List.of(0))) {
                out.writeSInt32NoTag(0);
            } else {
                out.writeSInt32NoTag(path.size());
                for (int index : path) {
                    out.writeSInt32NoTag(index);
                }
            }
            return Arrays.copyOf(bytes, out.getTotalBytesWritten());
        } catch (IOException impossible) { // nothing is written but memory
            throw new UncheckedIOException(impossible);
        }
    }

    @Override
    public byte[] invoke(InternalRow row) {
        if (row == null) {
            return null;
        }
        MessageWriter message = writer();
        int size;
        try {
            size = message.write(row);
        } catch (IllegalArgumentException | ArithmeticException unfit) {
            return Unwritable.because(unfit);
        }
        byte[] made = Arrays.copyOf(frame, frame.length + size);
        System.arraycopy(message.bytes, 0, made, frame.length, size);
        return made;
    }

    /** Writes a field: the value at a place of a row, which may be NULL. */
    private interface FieldWriter {
        void write(CodedOutputStream out, SpecializedGetters from, int at) throws IOException;
    }

    /** Writes messages of one type. Not for several threads, nor for a message inside itself. */
    private static final class MessageWriter {
        private final List<FieldWriter> writers = new ArrayList<>();
        private final List<Integer> ordinals = new ArrayList<>();
        private final String[] names;
        private byte[] bytes = new byte[128];

        MessageWriter(ProtobufSchema.Message message, StructType struct, String path) {
            names = struct.fieldNames();
            for (ProtobufSchema.Field field : message.fields()) {
                int at = ordinal(struct, field.name());
                if (at >= 0) {
                    StructField column = struct.fields()[at];
                    ordinals.add(at);
                    writers.add(field(field, column.dataType(), column.name()));
                }
            }
            List<ProtobufSchema.OneOf> oneOfs = message.oneOfs();
            for (int i = 0; i < oneOfs.size(); i++) {
                int at = ordinal(struct, oneOfs.get(i).name() + "_" + i);
                if (at >= 0 && struct.fields()[at].dataType() instanceof StructType inner) {
                    ordinals.add(at);
                    writers.add(alternatives(oneOfs.get(i), inner, path));
                    continue;
                }
                for (ProtobufSchema.Field field : oneOfs.get(i).fields()) {
                    int place = ordinal(struct, field.name());
                    if (place >= 0) {
                        ordinals.add(place);
                        writers.add(field(field, struct.fields()[place].dataType(), field.name()));
                    }
                }
            }
        }

        /** Writes {@code row} to the start of {@code bytes} and returns how many there are. */
        int write(InternalRow row) {
            while (true) {
                CodedOutputStream out = CodedOutputStream.newInstance(bytes);
                try {
                    for (int i = 0; i < ordinals.size(); i++) {
                        write(out, row, i);
                    }
                    return out.getTotalBytesWritten();
                } catch (CodedOutputStream.OutOfSpaceException full) {
                    bytes = new byte[Math.multiplyExact(bytes.length, 2)];
                } catch (IOException impossible) { // nothing is written but memory
                    throw new UncheckedIOException(impossible);
                }
            }
        }

        private void write(CodedOutputStream out, InternalRow row, int field) throws IOException {
            int at = ordinals.get(field);
            try {
                writers.get(field).write(out, row, at);
            } catch (IllegalArgumentException | ArithmeticException unfit) {
                throw Unwritable.at(names[at], unfit);
            }
        }
    }

    private static FieldWriter alternatives(
            ProtobufSchema.OneOf oneOf, StructType struct, String path) {
        List<FieldWriter> writers = new ArrayList<>();
        List<Integer> ordinals = new ArrayList<>();
        for (ProtobufSchema.Field field : oneOf.fields()) {
            int at = ordinal(struct, field.name());
            if (at >= 0) {
                ordinals.add(at);
                writers.add(field(field, struct.fields()[at].dataType(), path));
            }
        }
        return (out, from, at) -> {
            if (from.isNullAt(at)) {
                return;
            }
            InternalRow own = from.getStruct(at, struct.size());
            for (int i = 0; i < writers.size(); i++) {
                if (!own.isNullAt(ordinals.get(i))) {
                    writers.get(i).write(out, own, ordinals.get(i));
                    return;
                }
            }
        };
    }

    private static FieldWriter field(ProtobufSchema.Field field, DataType type, String path) {
        int tag = field.number() << 3 | ProtobufDecoder.wireType(field.type());
        if (field.mapKey() != null) {
            if (!(type instanceof MapType map)) {
                throw mismatch(path, "map", type);
            }
            return entries(
                    field.number(),
                    value(field.mapKey(), map.keyType(), path),
                    1 << 3 | ProtobufDecoder.wireType(field.mapKey()),
                    value(field.type(), map.valueType(), path),
                    2 << 3 | ProtobufDecoder.wireType(field.type()));
        }
        if (!field.repeated()) {
            ValueWriter writer = value(field.type(), type, path);
            boolean isKept = field.hasPresence() || !isPlain(field.type());
            return (out, from, at) -> {
                if (!from.isNullAt(at) && (isKept || !writer.isDefault(from, at))) {
                    out.writeUInt32NoTag(tag);
                    writer.write(out, from, at);
                }
            };
        }
        ProtobufSchema.Message message = field.type().message();
        if (type instanceof MapType map && message != null && message.isEntry()) {
            ProtobufSchema.Field key = message.fields().get(0);
            ProtobufSchema.Field value = message.fields().get(1);
            return entries(
                    field.number(),
                    value(key.type(), map.keyType(), path),
                    key.number() << 3 | ProtobufDecoder.wireType(key.type()),
                    value(value.type(), map.valueType(), path),
                    value.number() << 3 | ProtobufDecoder.wireType(value.type()));
        }
        if (!(type instanceof ArrayType array)) {
            throw mismatch(path, "repeated " + field.type().name(), type);
        }
        return items(field, value(field.type(), array.elementType(), path), tag);
    }

    private static boolean isPlain(ProtobufSchema.Type type) {
        return type.isScalar() || type.symbols() != null;
    }

    private static FieldWriter items(ProtobufSchema.Field field, ValueWriter writer, int tag) {
        if (ProtobufDecoder.wireType(field.type()) == WireFormat.WIRETYPE_LENGTH_DELIMITED) {
            return (out, from, at) -> {
                if (from.isNullAt(at)) {
                    return;
                }
                ArrayData items = from.getArray(at);
                for (int i = 0; i < items.numElements(); i++) {
                    out.writeUInt32NoTag(tag);
                    writer.writeOrDefault(out, items, i);
                }
            };
        }
        Buffer buffer = new Buffer();
        int packed = field.number() << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;
        return (out, from, at) -> {
            if (from.isNullAt(at)) {
                return;
            }
            ArrayData items = from.getArray(at);
            if (items.numElements() == 0) {
                return;
            }
            out.writeUInt32NoTag(packed);
            buffer.write(
                    out,
                    part -> {
                        for (int i = 0; i < items.numElements(); i++) {
                            writer.writeOrDefault(part, items, i);
                        }
                    });
        };
    }

    private static FieldWriter entries(
            int number, ValueWriter key, int keyTag, ValueWriter value, int valueTag) {
        Buffer buffer = new Buffer();
        int tag = number << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;
        return (out, from, at) -> {
            if (from.isNullAt(at)) {
                return;
            }
            MapData entries = from.getMap(at);
            for (int i = 0; i < entries.numElements(); i++) {
                int place = i;
                out.writeUInt32NoTag(tag);
                buffer.write(
                        out,
                        part -> {
                            part.writeUInt32NoTag(keyTag);
                            key.write(part, entries.keyArray(), place);
                            if (!entries.valueArray().isNullAt(place)) {
                                part.writeUInt32NoTag(valueTag);
                                value.write(part, entries.valueArray(), place);
                            }
                        });
            }
        };
    }

    /** What is written after a length, which must be known first. */
    private static final class Buffer {
        private interface Part {
            void write(CodedOutputStream out) throws IOException;
        }

        private byte[] bytes = new byte[64];

        void write(CodedOutputStream out, Part part) throws IOException {
            int size;
            while (true) {
                CodedOutputStream own = CodedOutputStream.newInstance(bytes);
                try {
                    part.write(own);
                    size = own.getTotalBytesWritten();
                    break;
                } catch (CodedOutputStream.OutOfSpaceException full) {
                    bytes = new byte[Math.multiplyExact(bytes.length, 2)];
                }
            }
            out.writeUInt32NoTag(size);
            out.write(bytes, 0, size);
        }
    }

    /** Writes a value that is not NULL, without a tag. */
    private interface ValueWriter {
        void write(CodedOutputStream out, SpecializedGetters from, int at) throws IOException;

        /** Whether the value need not be written where a field without it has the same. */
        default boolean isDefault(SpecializedGetters from, int at) {
            return false;
        }

        /** NULL as the type's default: elements of arrays cannot be left out. */
        default void writeOrDefault(CodedOutputStream out, SpecializedGetters from, int at)
                throws IOException {
            if (from.isNullAt(at)) {
                out.writeUInt32NoTag(0);
            } else {
                write(out, from, at);
            }
        }
    }

    private static IllegalArgumentException mismatch(String path, String found, DataType type) {
        return new IllegalArgumentException(
                "Values of type "
                        + type.sql()
                        + " do not fit the Protobuf type "
                        + found
                        + " of "
                        + path
                        + ".");
    }

    private static ValueWriter value(ProtobufSchema.Type type, DataType from, String path) {
        ValueWriter found = null;
        if (type.message() != null) {
            if (from instanceof StructType struct) {
                MessageWriter writer = new MessageWriter(type.message(), struct, path);
                found =
                        (out, row, at) -> {
                            int size = writer.write(row.getStruct(at, struct.size()));
                            out.writeUInt32NoTag(size);
                            out.write(writer.bytes, 0, size);
                        };
            }
        } else if (type.symbols() != null) {
            found = from.typeName().equals("string") ? symbol(type) : null;
        } else if (ProtobufSchema.WRAPPERS.containsKey(type.name())) {
            String scalar = ProtobufSchema.WRAPPERS.get(type.name());
            found = wrapped(new ProtobufSchema.Type(scalar, null, null), from, path);
        } else {
            found =
                    switch (type.name()) {
                        case ProtobufSchema.TIMESTAMP ->
                                from.typeName().equals("timestamp") ? timestamp() : null;
                        case ProtobufSchema.DATE -> from.typeName().equals("date") ? date() : null;
                        case ProtobufSchema.TIME ->
                                from.typeName().equals("integer") ? time() : null;
                        case ProtobufSchema.DECIMAL ->
                                from instanceof DecimalType decimal ? decimal(decimal) : null;
                        default -> scalar(type.name(), from.typeName());
                    };
        }
        if (found == null) {
            throw mismatch(path, type.name(), from);
        }
        return found;
    }

    private static ValueWriter symbol(ProtobufSchema.Type type) {
        Map<String, Integer> numbers = new HashMap<>();
        type.symbols().forEach((number, symbol) -> numbers.put(symbol, number));
        return (out, from, at) -> {
            String symbol = from.getUTF8String(at).toString();
            Integer number = numbers.get(symbol);
            if (number == null) {
                throw new IllegalArgumentException(
                        "The schema's enum " + type.name() + " has no " + symbol + ".");
            }
            out.writeEnumNoTag(number);
        };
    }

    private static ValueWriter wrapped(ProtobufSchema.Type scalar, DataType from, String path) {
        ValueWriter writer = value(scalar, from, path);
        Buffer buffer = new Buffer();
        int tag = 1 << 3 | ProtobufDecoder.wireType(scalar);
        return (out, row, at) ->
                buffer.write(
                        out,
                        part -> {
                            if (!writer.isDefault(row, at)) {
                                part.writeUInt32NoTag(tag);
                                writer.write(part, row, at);
                            }
                        });
    }

    /** A whole number of a row, as a long. */
    private interface Whole {
        long of(SpecializedGetters from, int at);
    }

    /** Writes a whole number. */
    private interface WholeWriter {
        void write(CodedOutputStream out, long number) throws IOException;
    }

    private record Number(Whole whole, WholeWriter writer) implements ValueWriter {
        @Override
        public void write(CodedOutputStream out, SpecializedGetters from, int at)
                throws IOException {
            writer.write(out, whole.of(from, at));
        }

        @Override
        public boolean isDefault(SpecializedGetters from, int at) {
            return whole.of(from, at) == 0;
        }

        @Override
        public void writeOrDefault(CodedOutputStream out, SpecializedGetters from, int at)
                throws IOException {
            writer.write(out, from.isNullAt(at) ? 0 : whole.of(from, at));
        }
    }

    private record Real(boolean isDouble) implements ValueWriter {
        @Override
        public void write(CodedOutputStream out, SpecializedGetters from, int at)
                throws IOException {
            write(out, from.getDouble(at));
        }

        private void write(CodedOutputStream out, double number) throws IOException {
            if (isDouble) {
                out.writeDoubleNoTag(number);
            } else {
                out.writeFloatNoTag((float) number);
            }
        }

        @Override
        public boolean isDefault(SpecializedGetters from, int at) {
            return Double.doubleToRawLongBits(from.getDouble(at)) == 0;
        }

        @Override
        public void writeOrDefault(CodedOutputStream out, SpecializedGetters from, int at)
                throws IOException {
            write(out, from.isNullAt(at) ? 0 : from.getDouble(at));
        }
    }

    private record Text() implements ValueWriter {
        @Override
        public void write(CodedOutputStream out, SpecializedGetters from, int at)
                throws IOException {
            UTF8String text = from.getUTF8String(at);
            out.writeByteArrayNoTag(text.getBytes());
        }

        @Override
        public boolean isDefault(SpecializedGetters from, int at) {
            return from.getUTF8String(at).numBytes() == 0;
        }
    }

    private record Bytes() implements ValueWriter {
        @Override
        public void write(CodedOutputStream out, SpecializedGetters from, int at)
                throws IOException {
            out.writeByteArrayNoTag(from.getBinary(at));
        }

        @Override
        public boolean isDefault(SpecializedGetters from, int at) {
            return from.getBinary(at).length == 0;
        }
    }

    private static ValueWriter scalar(String to, String from) {
        switch (to) {
            case "double":
            case "float":
                return from.equals("double") ? new Real(to.equals("double")) : null;
            case "string":
                return from.equals("string") ? new Text() : null;
            case "bytes":
                return from.equals("binary") ? new Bytes() : null;
            case "bool":
                return from.equals("boolean")
                        ? new Number(
                                (row, at) -> row.getBoolean(at) ? 1 : 0,
                                (out, number) -> out.writeBoolNoTag(number != 0))
                        : null;
            default:
                Whole whole =
                        switch (from) {
                            case "integer", "date" -> (row, at) -> row.getInt(at);
                            case "long" -> (row, at) -> row.getLong(at);
                            case "timestamp" -> (row, at) -> Math.floorDiv(row.getLong(at), MICROS);
                            default -> null;
                        };
                WholeWriter writer = whole(to);
                return whole == null || writer == null ? null : new Number(whole, writer);
        }
    }

    private static WholeWriter whole(String to) {
        return switch (to) {
            case "int32" -> (out, number) -> out.writeInt32NoTag(Math.toIntExact(number));
            case "sint32" -> (out, number) -> out.writeSInt32NoTag(Math.toIntExact(number));
            case "sfixed32" -> (out, number) -> out.writeSFixed32NoTag(Math.toIntExact(number));
            case "uint32" -> (out, number) -> out.writeUInt32NoTag(unsigned(number));
            case "fixed32" -> (out, number) -> out.writeFixed32NoTag(unsigned(number));
            case "int64" -> CodedOutputStream::writeInt64NoTag;
            case "uint64" -> CodedOutputStream::writeUInt64NoTag;
            case "sint64" -> CodedOutputStream::writeSInt64NoTag;
            case "sfixed64" -> CodedOutputStream::writeSFixed64NoTag;
            case "fixed64" -> CodedOutputStream::writeFixed64NoTag;
            default -> null;
        };
    }

    private static int unsigned(long number) {
        if (number < 0 || number > 0xffffffffL) {
            throw new IllegalArgumentException(number + " does not fit 32 bits without a sign.");
        }
        return (int) number;
    }

    private static ValueWriter timestamp() {
        Buffer buffer = new Buffer();
        return (out, from, at) -> {
            long micros = from.getLong(at);
            long seconds = Math.floorDiv(micros, SECOND_MICROS);
            int nanos = (int) Math.floorMod(micros, SECOND_MICROS) * NANOS_PER_MICRO;
            buffer.write(
                    out,
                    part -> {
                        if (seconds != 0) {
                            part.writeInt64(1, seconds);
                        }
                        number(part, 2, nanos);
                    });
        };
    }

    private static ValueWriter date() {
        Buffer buffer = new Buffer();
        return (out, from, at) -> {
            LocalDate date = LocalDate.ofEpochDay(from.getInt(at));
            buffer.write(
                    out,
                    part -> {
                        number(part, 1, date.getYear());
                        number(part, 2, date.getMonthValue());
                        number(part, 3, date.getDayOfMonth());
                    });
        };
    }

    private static ValueWriter time() {
        Buffer buffer = new Buffer();
        return (out, from, at) -> {
            int millis = from.getInt(at);
            int seconds = millis / 1000;
            buffer.write(
                    out,
                    part -> {
                        number(part, 1, seconds / 3600);
                        number(part, 2, seconds / 60 % 60);
                        number(part, 3, seconds % 60);
                        number(part, 4, millis % 1000 * NANOS_PER_MILLI);
                    });
        };
    }

    private static void number(CodedOutputStream out, int field, int value) throws IOException {
        if (value != 0) {
            out.writeInt32(field, value);
        }
    }

    private static ValueWriter decimal(DecimalType type) {
        Buffer buffer = new Buffer();
        return (out, from, at) -> {
            BigDecimal number =
                    from.getDecimal(at, type.precision(), type.scale())
                            .toJavaBigDecimal()
                            .setScale(type.scale());
            buffer.write(
                    out,
                    part -> {
                        part.writeBytes(
                                1, ByteString.copyFrom(number.unscaledValue().toByteArray()));
                        number(part, 2, type.precision());
                        number(part, 3, type.scale());
                    });
        };
    }

    private static int ordinal(StructType struct, String name) {
        StructField[] ours = struct.fields();
        int found = -1;
        for (int i = 0; i < ours.length; i++) {
            if (ours[i].name().equals(name)) {
                return i;
            }
            if (ours[i].name().equalsIgnoreCase(name)) {
                found = i;
            }
        }
        return found;
    }
}
