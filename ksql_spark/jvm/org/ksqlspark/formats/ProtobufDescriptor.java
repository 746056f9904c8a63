package org.ksqlspark.formats;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumDescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumValueDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.InvalidProtocolBufferException;

import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Schemas that were registered as serialized descriptors, as .proto files. Some serializers
 * register these, in base64; some registries give them back as they are.
 */
final class ProtobufDescriptor {
    private static final Pattern BASE64 = Pattern.compile("[A-Za-z0-9+/\\s]+={0,2}\\s*");

    private ProtobufDescriptor() {}

    /** {@code text}, a .proto file; or the .proto file of the descriptor that it is. */
    static String protoText(String text) {
        if (!BASE64.matcher(text).matches()) {
            return text;
        }
        FileDescriptorProto file;
        try {
            file = FileDescriptorProto.parseFrom(Base64.getMimeDecoder().decode(text));
        } catch (InvalidProtocolBufferException bad) {
            throw new IllegalArgumentException("The schema is no Protobuf schema.", bad);
        }
        StringBuilder made = new StringBuilder("syntax = \"");
        made.append(file.getSyntax().isEmpty() ? "proto2" : file.getSyntax()).append("\";\n");
        if (!file.getPackage().isEmpty()) {
            made.append("package ").append(file.getPackage()).append(";\n");
        }
        file.getDependencyList().forEach(path -> made.append("import \"" + path + "\";\n"));
        file.getMessageTypeList().forEach(message -> add(message, made));
        file.getEnumTypeList().forEach(symbols -> add(symbols, made));
        return made.toString();
    }

    private static void add(DescriptorProto message, StringBuilder made) {
        made.append("message ").append(message.getName()).append(" {\n");
        Map<String, DescriptorProto> entries = new HashMap<>();
        for (DescriptorProto nested : message.getNestedTypeList()) {
            if (nested.getOptions().getMapEntry()) {
                entries.put(nested.getName(), nested);
            } else {
                add(nested, made);
            }
        }
        message.getEnumTypeList().forEach(symbols -> add(symbols, made));
        for (FieldDescriptorProto field : message.getFieldList()) {
            if (!isAlternative(field)) {
                made.append(label(field, entries)).append(' ');
                made.append(member(field, type(field, entries)));
            }
        }
        for (int i = 0; i < message.getOneofDeclCount(); i++) {
            int index = i;
            List<FieldDescriptorProto> fields =
                    message.getFieldList().stream()
                            .filter(f -> isAlternative(f) && f.getOneofIndex() == index)
                            .toList();
            if (!fields.isEmpty()) {
                made.append("oneof ").append(message.getOneofDecl(i).getName()).append(" {\n");
                fields.forEach(field -> made.append(member(field, type(field, entries))));
                made.append("}\n");
            }
        }
        made.append("}\n");
    }

    private static boolean isAlternative(FieldDescriptorProto field) {
        return field.hasOneofIndex() && !field.getProto3Optional();
    }

    private static String member(FieldDescriptorProto field, String type) {
        return type + " " + field.getName() + " = " + field.getNumber() + ";\n";
    }

    private static String label(FieldDescriptorProto field, Map<String, DescriptorProto> entries) {
        if (field.getLabel() == FieldDescriptorProto.Label.LABEL_REPEATED) {
            return entries.containsKey(simple(field.getTypeName())) ? "" : "repeated";
        }
        return field.getProto3Optional() ? "optional" : "";
    }

    private static String type(FieldDescriptorProto field, Map<String, DescriptorProto> entries) {
        if (field.getTypeName().isEmpty()) {
            return field.getType().name().substring("TYPE_".length()).toLowerCase(Locale.ROOT);
        }
        DescriptorProto entry = entries.get(simple(field.getTypeName()));
        if (entry == null) {
            return field.getTypeName();
        }
        String key = type(entry.getField(0), Map.of());
        return "map<" + key + ", " + type(entry.getField(1), Map.of()) + ">";
    }

    private static String simple(String name) {
        return name.substring(name.lastIndexOf('.') + 1);
    }

    private static void add(EnumDescriptorProto symbols, StringBuilder made) {
        made.append("enum ").append(symbols.getName()).append(" {\n");
        for (EnumValueDescriptorProto value : symbols.getValueList()) {
            made.append(value.getName()).append(" = ").append(value.getNumber()).append(";\n");
        }
        made.append("}\n");
    }
}
