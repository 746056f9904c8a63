package org.ksqlspark.formats;

import com.google.protobuf.WireFormat;
import com.squareup.wire.Syntax;
import com.squareup.wire.schema.Field.Label;
import com.squareup.wire.schema.Location;
import com.squareup.wire.schema.internal.parser.EnumConstantElement;
import com.squareup.wire.schema.internal.parser.EnumElement;
import com.squareup.wire.schema.internal.parser.FieldElement;
import com.squareup.wire.schema.internal.parser.MessageElement;
import com.squareup.wire.schema.internal.parser.OneOfElement;
import com.squareup.wire.schema.internal.parser.ProtoFileElement;
import com.squareup.wire.schema.internal.parser.ProtoParser;
import com.squareup.wire.schema.internal.parser.TypeElement;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * The messages of a .proto file, with the types of their fields resolved. Fields of messages are
 * read when they are asked for, so a message may be part of itself.
 */
final class ProtobufSchema {
    static final String DECIMAL = "confluent.type.Decimal";
    static final String DATE = "google.type.Date";
    static final String TIME = "google.type.TimeOfDay";
    static final String TIMESTAMP = "google.protobuf.Timestamp";

    /** Wire types of all scalars. */
    private static final Map<String, Integer> SCALARS = new HashMap<>();

    /** Messages with one field, 1, which stand for a value that may be NULL. */
    private static final Map<String, Type> WRAPPERS = new HashMap<>();

    static {
        addScalars(WireFormat.WIRETYPE_VARINT, "int32 int64 uint32 uint64 sint32 sint64 bool");
        addScalars(WireFormat.WIRETYPE_FIXED64, "fixed64 sfixed64 double");
        addScalars(WireFormat.WIRETYPE_FIXED32, "fixed32 sfixed32 float");
        addScalars(WireFormat.WIRETYPE_LENGTH_DELIMITED, "string bytes");
        for (String name : "Double Float Int64 UInt64 Int32 UInt32 Bool String Bytes".split(" ")) {
            Type value = new Type(name.toLowerCase(Locale.ROOT), null, null);
            WRAPPERS.put("google.protobuf." + name + "Value", value);
        }
    }

    private static final Set<String> SPECIAL = Set.of(DECIMAL, DATE, TIME, TIMESTAMP);

    /** Other messages that every file may import without a reference. */
    private static final String WELL_KNOWN =
            "syntax = \"proto3\"; package google.protobuf;"
                    + " message Any { string type_url = 1; bytes value = 2; }"
                    + " message Duration { int64 seconds = 1; int32 nanos = 2; }"
                    + " message Empty { }"
                    + " message FieldMask { repeated string paths = 1; }"
                    + " message Struct { map<string, Value> fields = 1; }"
                    + " message ListValue { repeated Value values = 1; }"
                    + " enum NullValue { NULL_VALUE = 0; }"
                    + " message Value { oneof kind { NullValue null_value = 1;"
                    + " double number_value = 2; string string_value = 3; bool bool_value = 4;"
                    + " Struct struct_value = 5; ListValue list_value = 6; } }";

    private static void addScalars(int wireType, String names) {
        for (String name : names.split(" ")) {
            SCALARS.put(name, wireType);
        }
    }

    /**
     * A type: a scalar, a wrapper or one of the names above; or else a message or an enum.
     *
     * @param name its full name
     * @param message what it is if it is a message
     * @param symbols what it is if it is an enum: its numbers' names
     */
    record Type(String name, Message message, Map<Integer, String> symbols) {
        boolean isScalar() {
            return SCALARS.containsKey(name);
        }

        /** What it stands for if it is a wrapper; else null. */
        Type wrapped() {
            return WRAPPERS.get(name);
        }

        int wireType() {
            return symbols != null
                    ? WireFormat.WIRETYPE_VARINT
                    : SCALARS.getOrDefault(name, WireFormat.WIRETYPE_LENGTH_DELIMITED);
        }

        /** A field of this type that is its default where it is left out. */
        Field field(String field, int number) {
            return new Field(field, number, false, false, null, this, null);
        }

        /** The tag of a field of this type. */
        int tag(int number) {
            return number << 3 | wireType();
        }
    }

    /**
     * A field.
     *
     * @param hasPresence whether it can be absent; otherwise it then has its type's default
     * @param mapKey the type of its keys if it is a map, else null
     * @param standard its own default, which only fields of proto2 and editions have, else null
     */
    record Field(
            String name,
            int number,
            boolean repeated,
            boolean hasPresence,
            Type mapKey,
            Type type,
            String standard) {}

    /** Alternatives, of which one at most is there. */
    record OneOf(String name, List<Field> fields) {
        /** The name of the column that they are; {@code index}: their place in the message. */
        String column(int index) {
            return name + "_" + index;
        }
    }

    /** A message; its members are read when they are first asked for. */
    final class Message {
        private final String name;
        private final MessageElement element;
        private final boolean isExplicit;
        private List<Field> fields;
        private List<OneOf> oneOfs;

        private Message(String name, MessageElement element, boolean isExplicit) {
            this.name = name;
            this.element = element;
            this.isExplicit = isExplicit;
        }

        String name() {
            return name;
        }

        /** Its fields, without those of alternatives. */
        List<Field> fields() {
            if (fields == null) {
                fields = element.getFields().stream().map(f -> field(f, false)).toList();
            }
            return fields;
        }

        List<OneOf> oneOfs() {
            if (oneOfs == null) {
                oneOfs = element.getOneOfs().stream().map(this::oneOf).toList();
            }
            return oneOfs;
        }

        private OneOf oneOf(OneOfElement one) {
            List<Field> alternatives = one.getFields().stream().map(f -> field(f, true)).toList();
            return new OneOf(one.getName(), alternatives);
        }

        /** Whether it has nothing but a key and a value: maps are also written as lists of such. */
        boolean isEntry() {
            return name.endsWith("Entry")
                    && fields().size() == 2
                    && fields().get(0).name().equalsIgnoreCase("key")
                    && fields().get(1).name().equalsIgnoreCase("value");
        }

        private Field field(FieldElement element, boolean isAlternative) {
            String type = element.getType();
            boolean repeated = element.getLabel() == Label.REPEATED;
            boolean hasPresence =
                    isAlternative
                            || element.getLabel() == Label.OPTIONAL
                            || isExplicit && !repeated;
            boolean isMap = type.startsWith("map<");
            int comma = type.indexOf(',');
            String value = isMap ? type.substring(comma + 1, type.length() - 1).strip() : type;
            return new Field(
                    element.getName(),
                    element.getTag(),
                    repeated || isMap,
                    hasPresence,
                    isMap ? type(type.substring(4, comma).strip(), name) : null,
                    type(value, name),
                    isMap ? null : element.getDefaultValue());
        }
    }

    private final Map<String, Message> messages = new HashMap<>();
    private final Map<String, Map<Integer, String>> enums = new HashMap<>();
    private final ProtoFileElement file;

    /**
     * @param text a .proto file
     * @param references the files that it imports, also indirectly
     */
    ProtobufSchema(String text, List<String> references) {
        add(parse(WELL_KNOWN), false);
        for (String reference : references) {
            add(parse(reference), ProtobufDescriptor.isEdition(reference));
        }
        file = parse(text);
        add(file, ProtobufDescriptor.isEdition(text));
    }

    private static ProtoFileElement parse(String text) {
        return ProtoParser.Companion.parse(
                Location.get("schema.proto"), ProtobufDescriptor.protoText(text));
    }

    private void add(ProtoFileElement added, boolean isEdition) {
        String scope = added.getPackageName() == null ? "" : added.getPackageName();
        Syntax syntax = added.getSyntax();
        // in proto2 and in editions, fields that have no default of their own can be absent
        boolean isImplicit =
                !isEdition && syntax != null && syntax.toString().equals("proto3")
                        || added.getOptions().stream()
                                .anyMatch(
                                        option ->
                                                option.getName().equals("features.field_presence")
                                                        && "IMPLICIT".equals(option.getValue()));
        add(added.getTypes(), scope, !isImplicit);
    }

    private void add(List<? extends TypeElement> types, String scope, boolean isExplicit) {
        for (TypeElement type : types) {
            String name = inside(scope, type.getName());
            if (type instanceof MessageElement message) {
                messages.put(name, new Message(name, message, isExplicit));
                add(message.getNestedTypes(), name, isExplicit);
            } else if (type instanceof EnumElement constants) {
                Map<Integer, String> symbols = new LinkedHashMap<>();
                for (EnumConstantElement constant : constants.getConstants()) {
                    symbols.putIfAbsent(constant.getTag(), constant.getName());
                }
                enums.put(name, symbols);
            }
        }
    }

    /** The message at a place: an index among the file's messages, then among those inside it. */
    Message message(List<Integer> path) {
        List<? extends TypeElement> types = file.getTypes();
        String name = file.getPackageName() == null ? "" : file.getPackageName();
        for (int index : path) {
            List<MessageElement> here =
                    types.stream()
                            .filter(type -> type instanceof MessageElement)
                            .map(type -> (MessageElement) type)
                            .toList();
            if (index < 0 || index >= here.size()) {
                throw new IllegalArgumentException("The schema has no message at " + path + ".");
            }
            name = inside(name, here.get(index).getName());
            types = here.get(index).getNestedTypes();
        }
        return messages.get(name);
    }

    private Type type(String name, String scope) {
        if (SCALARS.containsKey(name)) {
            return new Type(name, null, null);
        }
        // in the innermost message first, then in those around it, then in the package
        for (String place = name.startsWith(".") ? "" : scope; ; place = outer(place)) {
            String full = inside(place, place.isEmpty() ? name.replaceFirst("^\\.", "") : name);
            if (SPECIAL.contains(full) || WRAPPERS.containsKey(full)) {
                return new Type(full, null, null);
            }
            if (messages.containsKey(full)) {
                return new Type(full, messages.get(full), null);
            }
            if (enums.containsKey(full)) {
                return new Type(full, null, enums.get(full));
            }
            if (place.isEmpty()) { // it fits no column, but other fields are read
                return new Type(name + ", which is not in the schema", null, null);
            }
        }
    }

    private static String inside(String scope, String name) {
        return scope.isEmpty() ? name : scope + "." + name;
    }

    private static String outer(String place) {
        int dot = place.lastIndexOf('.');
        return dot < 0 ? "" : place.substring(0, dot);
    }
}
