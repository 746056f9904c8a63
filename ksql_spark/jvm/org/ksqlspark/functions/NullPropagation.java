package org.ksqlspark.functions;

import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;

import java.util.HashSet;
import java.util.Set;

/**
 * Collections made by a lambda, which are NULL as a whole if the lambda failed for an element
 * (reference §4.5).
 */
public final class NullPropagation {
    private NullPropagation() {}

    private static boolean isMissing(ArrayData values) {
        for (int i = 0; i < values.numElements(); i++) {
            if (values.isNullAt(i)) {
                return true;
            }
        }
        return false;
    }

    /** An array; NULL if an element is NULL. */
    public static final class OfArray extends InvokeFunction<ArrayData> {
        OfArray(DataType type) {
            super(type, type);
        }

        public ArrayData invoke(ArrayData array) {
            return array == null || isMissing(array) ? null : array;
        }
    }

    /** A map; NULL if a value is NULL. */
    public static final class OfMap extends InvokeFunction<MapData> {
        OfMap(DataType type) {
            super(type, type);
        }

        public MapData invoke(MapData map) {
            return map == null || isMissing(map.valueArray()) ? null : map;
        }
    }

    /** (keys, values): a map of both; NULL if one of them is missing or a key is repeated. */
    public static final class MapOf extends InvokeFunction<MapData> {
        private final DataType keyType;

        public MapOf(ArrayType keys, ArrayType values) {
            super(DataTypes.createMapType(keys.elementType(), values.elementType()), keys, values);
            this.keyType = keys.elementType();
        }

        public MapData invoke(ArrayData keys, ArrayData values) {
            if (keys == null || values == null || isMissing(keys) || isMissing(values)) {
                return null;
            }
            Set<Object> seen = new HashSet<>();
            for (int i = 0; i < keys.numElements(); i++) {
                if (!seen.add(MapOrder.java(keys.get(i, keyType)))) {
                    return null;
                }
            }
            return new ArrayBasedMapData(keys, values);
        }
    }

    public static InvokeFunction<?> of(DataType type) {
        return type instanceof MapType ? new OfMap(type) : new OfArray(type);
    }
}
