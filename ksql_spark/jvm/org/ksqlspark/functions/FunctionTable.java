package org.ksqlspark.functions;

import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

import java.util.HashMap;
import java.util.Map;

/** Functions by name, as SQL text calls them. Each package adds its own. */
public final class FunctionTable {
    private final Map<String, Maker> makers = new HashMap<>();

    /**
     * A function in SQL text.
     *
     * @param name with the argument
     * @param argument what follows the colon in the name; empty: there is none
     * @param types those of its parameters
     * @param limits those of results
     */
    public record Call(String name, String argument, StructType types, Limits limits) {
        /** The type of a parameter, from 0. */
        public DataType type(int index) {
            return types.fields()[index].dataType();
        }

        /** The type of the first parameter, which is a struct. */
        public StructType row() {
            return (StructType) type(0);
        }

        /** The type of a parameter that is an array. */
        public ArrayType array(int index) {
            return (ArrayType) type(index);
        }

        /** The type of the first parameter, which is a map. */
        public MapType map() {
            return (MapType) type(0);
        }

        /** The argument, which is a number. */
        public int number() {
            return Integer.parseInt(argument);
        }
    }

    /** Makes a function for a call. */
    @FunctionalInterface
    public interface Maker {
        BoundFunction make(Call call);
    }

    /**
     * Adds a function.
     *
     * @throws IllegalArgumentException there is one with this name
     */
    public void add(String name, Maker maker) {
        if (makers.putIfAbsent(name, maker) != null) {
            throw new IllegalArgumentException("two functions are called " + name);
        }
    }

    /** The maker of a function; null: there is no such function. */
    public Maker find(String name) {
        return makers.get(name);
    }
}
