package org.ksqlspark.functions;

import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.unsafe.types.UTF8String;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * The entries of a map in the order of Java's HashMap, which ksqlDB uses: functions that process
 * entries one by one depend on the order.
 */
public final class MapOrder extends InvokeFunction<MapData> {
    private final MapType type;

    public MapOrder(MapType type) {
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
        return picked(map, type, places.values().toArray(new Integer[0]));
    }

    /** The entries in the order of their keys, which are STRINGs. */
    public static final class ByKey extends InvokeFunction<MapData> {
        private final MapType type;

        public ByKey(MapType type) {
            super(type, type);
            this.type = type;
        }

        public MapData invoke(MapData map) {
            if (map == null || map.numElements() < 2) {
                return map;
            }
            ArrayData keys = map.keyArray();
            Integer[] order = new Integer[map.numElements()];
            Arrays.setAll(order, i -> i);
            Arrays.sort(
                    order,
                    (a, b) -> TextOrder.compare(keys.getUTF8String(a), keys.getUTF8String(b)));
            return picked(map, type, order);
        }
    }

    private static MapData picked(MapData map, MapType type, Integer[] places) {
        ArrayData keys = map.keyArray();
        ArrayData values = map.valueArray();
        Object[] pickedKeys = new Object[places.length];
        Object[] pickedValues = new Object[places.length];
        for (int i = 0; i < places.length; i++) {
            int place = places[i];
            pickedKeys[i] = keys.get(place, type.keyType());
            pickedValues[i] = values.isNullAt(place) ? null : values.get(place, type.valueType());
        }
        return new ArrayBasedMapData(
                new GenericArrayData(pickedKeys), new GenericArrayData(pickedValues));
    }

    /** ksqlDB's object for a key, as far as its hash is concerned. */
    static Object java(Object key) {
        if (key instanceof UTF8String) {
            return key.toString();
        }
        if (key instanceof byte[]) {
            return ByteBuffer.wrap((byte[]) key);
        }
        return key instanceof Decimal ? ((Decimal) key).toJavaBigDecimal() : key;
    }
}
