package org.ksqlspark.formats;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.io.SerializedString;

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

import java.io.IOException;
import java.util.HashMap;
import java.util.Locale;

/**
 * Reads an object as a STRUCT: a column is the last member of its name, or else of its upper case.
 */
final class JsonObjectReader implements JsonReader {
    private static final int NONE = Integer.MIN_VALUE;
    private static final int NAMES_KEPT = 1024;
    private static final int EXPECTED_NAME_LENGTH = 256;

    private final String[] names;
    private final JsonReader[] readers;
    private transient HashMap<String, Member> members;

    /** What comes before an object's first member. */
    private transient Member beforeFirst;

    /** The name of members, and the column that they belong to. */
    private static final class Member {
        /** Null: the parser cannot expect it. */
        final SerializedString name;

        /**
         * n if it has the column's name, -n - 1 if it has only in upper case, NONE if there is no
         * such column.
         */
        final int ordinal;

        /**
         * The member that came after it last time: objects of a topic have their members mostly in
         * the same order, and the parser compares a name that is expected sooner than it reads one.
         * Null: none did, or the parser cannot expect it.
         */
        Member next;

        Member(SerializedString name, int ordinal) {
            this.name = name;
            this.ordinal = ordinal;
        }

        /** A member that the parser can expect, if its name allows. */
        static Member kept(String name, int ordinal) {
            return new Member(name.length() > EXPECTED_NAME_LENGTH ? null : utf8(name), ordinal);
        }

        /** Null for a name with an escape of half a character, which has no bytes. */
        private static SerializedString utf8(String name) {
            SerializedString utf8 = new SerializedString(name);
            try {
                utf8.asQuotedUTF8();
                return utf8;
            } catch (IllegalArgumentException loneSurrogate) {
                return null;
            }
        }
    }

    JsonObjectReader(StructType struct, boolean isConnects) {
        StructField[] fields = struct.fields();
        names = new String[fields.length];
        readers = new JsonReader[fields.length];
        for (int i = 0; i < fields.length; i++) {
            names[i] = fields[i].name();
            readers[i] = JsonReader.of(fields[i].dataType(), isConnects);
        }
    }

    private Member member(String name) {
        if (members == null) {
            members = new HashMap<>();
            for (int i = 0; i < names.length; i++) {
                members.put(names[i], Member.kept(names[i], i));
            }
        }
        Member known = members.get(name);
        if (known != null) {
            return known;
        }
        Member folded = members.get(name.toUpperCase(Locale.ROOT));
        int column = folded == null || folded.ordinal < 0 ? NONE : -folded.ordinal - 1;
        if (members.size() >= NAMES_KEPT) {
            return new Member(null, column);
        }
        Member kept = Member.kept(name, column);
        members.put(name, kept);
        return kept;
    }

    /** Goes on to the next member's name; null at the end of the object. */
    private Member next(JsonParser parser, Member last) throws IOException {
        Member expected = last.next;
        if (expected == null) {
            parser.nextToken();
        } else if (parser.nextFieldName(expected.name)) {
            return expected;
        }
        if (parser.currentToken() == JsonToken.END_OBJECT) {
            return null;
        }
        Member found = member(parser.currentName());
        last.next = found.name == null ? null : found;
        return found;
    }

    @Override
    public Object value(JsonParser parser, JsonToken token) throws IOException {
        JsonReader.expect(token, JsonToken.START_OBJECT);
        Object[] values = new Object[names.length];
        boolean[] exact = new boolean[names.length]; // whether there was a member of its name
        JsonMisfit[] misfits = null; // by column, of members that have its name in another case
        if (beforeFirst == null) {
            beforeFirst = new Member(null, NONE);
        }
        Member member = beforeFirst;
        while ((member = next(parser, member)) != null) {
            int ordinal = member.ordinal;
            JsonToken start = parser.nextToken();
            if (ordinal >= 0) {
                exact[ordinal] = true;
            } else if (ordinal == NONE || exact[-ordinal - 1]) {
                parser.skipChildren();
                continue;
            } else {
                ordinal = -ordinal - 1;
            }
            // one that does not fit counts only if no other member of the column follows
            values[ordinal] = JsonMisfit.orValue(readers[ordinal], parser, start);
            JsonMisfit misfit = values[ordinal] instanceof JsonMisfit found ? found : null;
            if (misfit != null && misfits == null) {
                misfits = new JsonMisfit[names.length];
            }
            if (misfits != null) {
                misfits[ordinal] = misfit;
            }
        }
        for (int i = 0; misfits != null && i < misfits.length; i++) {
            if (misfits[i] != null) {
                throw misfits[i];
            }
        }
        return new GenericInternalRow(values);
    }
}
