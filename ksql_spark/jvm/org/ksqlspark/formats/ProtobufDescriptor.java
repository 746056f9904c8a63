package org.ksqlspark.formats;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumDescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumValueDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.InvalidProtocolBufferException;

import java.math.BigInteger;
import java.util.Base64;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Schemas that were registered as serialized descriptors, as .proto files. Some serializers
 * register these, in base64; some registries give them back as they are.
 */
final class ProtobufDescriptor {
    private static final Pattern BASE64 = Pattern.compile("[A-Za-z0-9+/\\s]++={0,2}\\s*+");

    private static final Pattern EDITION =
            Pattern.compile("(^|[;\\n/])[^\\S\\n]*+edition\\s*=\\s*[\"'][^\"']*[\"']\\s*;");

    /** Texts, which stay as they are; comments; numbers that are not decimal. */
    private static final Pattern LITERAL =
            Pattern.compile(
                    "(\"(?:\\\\.|[^\"\\\\])*+\"|'(?:\\\\.|[^'\\\\])*+')|(//[^\n]*|/\\*.*?\\*/)"
                            + "|(?<![\\w.])(0[xX][0-9a-fA-F]+)(?![\\w.])",
                    Pattern.DOTALL);

    private ProtobufDescriptor() {}

    /** {@code text}, a .proto file; or the .proto file of the descriptor that it is. */
    static String protoText(String text) {
        if (!BASE64.matcher(text).matches()) {
            // the parser does not know editions; in proto3, too, fields need no labels
            return EDITION.matcher(simplified(text)).replaceFirst("$1syntax = \"proto3\";");
        }
        FileDescriptorProto file;
        try {
            file = FileDescriptorProto.parseFrom(Base64.getMimeDecoder().decode(text));
        } catch (InvalidProtocolBufferException bad) {
            throw new IllegalArgumentException("The schema is not a valid Protobuf schema.", bad);
        }
        // a file of an edition differs from one of proto2 in what we do not need
        boolean isProto2 = !file.getSyntax().equals("proto3");
        StringBuilder made = new StringBuilder("syntax = \"");
        made.append(isProto2 ? "proto2" : "proto3").append("\";\n");
        if (!file.getPackage().isEmpty()) {
            made.append("package ").append(file.getPackage()).append(";\n");
        }
        file.getDependencyList().forEach(path -> made.append("import \"" + path + "\";\n"));
        file.getMessageTypeList().forEach(message -> add(message, isProto2, made));
        file.getEnumTypeList().forEach(symbols -> add(symbols, made));
        return made.toString();
    }

    /** Without comments and with decimal numbers, which the parser does not take everywhere. */
    private static String simplified(String text) {
        return LITERAL.matcher(text.startsWith("\ufeff") ? text.substring(1) : text)
                .replaceAll(
                        found -> {
                            String comment = found.group(2);
                            if (comment != null) {
                                return " " + "\n".repeat((int) comment.lines().count() - 1);
                            }
                            String number = found.group(3);
                            return number == null
                                    ? Matcher.quoteReplacement(found.group())
                                    : new BigInteger(number.substring(2), 16).toString();
                        });
    }

    /** Whether {@code text} is a .proto file of an edition. */
    static boolean isEdition(String text) {
        return EDITION.matcher(simplified(text)).find();
    }

    private static void add(DescriptorProto message, boolean isProto2, StringBuilder made) {
        made.append("message ").append(message.getName()).append(" {\n");
        Map<String, DescriptorProto> entries = new HashMap<>();
        for (DescriptorProto nested : message.getNestedTypeList()) {
            if (nested.getOptions().getMapEntry()) {
                entries.put(nested.getName(), nested);
            }
            // those of maps too: records name messages by their places among all of them
            add(nested, isProto2, made);
        }
        message.getEnumTypeList().forEach(symbols -> add(symbols, made));
        for (FieldDescriptorProto field : message.getFieldList()) {
            if (!isAlternative(field)) {
                made.append(label(field, entries, isProto2)).append(' ');
                made.append(member(field, type(field, entries)));
            }
        }
        for (int i = 0; i < message.getOneofDeclCount(); i++) {
            StringBuilder alternatives = new StringBuilder();
            for (FieldDescriptorProto field : message.getFieldList()) {
                if (isAlternative(field) && field.getOneofIndex() == i) {
                    alternatives.append(member(field, type(field, entries)));
                }
            }
            if (!alternatives.isEmpty()) {
                String name = message.getOneofDecl(i).getName();
                made.append("oneof " + name + " {\n").append(alternatives).append("}\n");
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

    private static String label(
            FieldDescriptorProto field, Map<String, DescriptorProto> entries, boolean isProto2) {
        if (field.getLabel() == FieldDescriptorProto.Label.LABEL_REPEATED) {
            return entries.containsKey(simple(field.getTypeName())) ? "" : "repeated";
        }
        return field.getProto3Optional() || isProto2 ? "optional" : "";
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
