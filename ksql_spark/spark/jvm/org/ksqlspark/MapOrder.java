package org.ksqlspark;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The entries of a map in the order of Java's HashMap, in which ksqlDB holds maps: what goes through them one by one
 * gives another result in another order.
 */
final class MapOrder extends TextFunction<MapData> {
    private final MapType type;

    MapOrder(MapType type) {
        super(type, type);
        this.type = type;
    }

    public MapData invoke(MapData map) {
        if (map == null || map.numElements() < 2) {
            return map;
        }
        ArrayData keys = map.keyArray();
        Map<Object, Integer> places = new HashMap<>(map.numElements());
        for (int i = 0; i < map.numElements(); i++) {
            places.put(java(keys.get(i, type.keyType())), i);
        }
        Object[] sortedKeys = new Object[places.size()];
        Object[] sortedValues = new Object[places.size()];
        ArrayData values = map.valueArray();
        DataType valueType = type.valueType();
        int at = 0;
        for (int place : places.values()) {
            sortedKeys[at] = keys.get(place, type.keyType());
            sortedValues[at++] = values.isNullAt(place) ? null : values.get(place, valueType);
        }
        return new ArrayBasedMapData(new GenericArrayData(sortedKeys), new GenericArrayData(sortedValues));
    }

    /** What ksqlDB has for a key, as far as its hash goes. */
    private static Object java(Object key) {
        if (key instanceof UTF8String) {
            return key.toString();
        }
        if (key instanceof byte[]) {
            return ByteBuffer.wrap((byte[]) key);
        }
        return key instanceof Decimal ? ((Decimal) key).toJavaBigDecimal() : key;
    }
}
