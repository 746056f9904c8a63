package org.ksqlspark.extension;

import io.confluent.ksql.function.udaf.Udaf;
import io.confluent.ksql.function.udaf.VariadicArgs;
import io.confluent.ksql.util.Pair;
import io.confluent.ksql.util.Quadruple;
import io.confluent.ksql.util.Quintuple;
import io.confluent.ksql.util.Triple;

import org.apache.commons.lang3.reflect.TypeUtils;

import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * The arguments of an aggregate function as the one object that it takes: the argument itself, or a
 * tuple of several.
 *
 * @param tuple the class of the tuple; null: there is one argument
 * @param types those of the arguments
 * @param variadic the index of the argument that may be repeated; negative: none
 */
record ArgumentTuple(Class<?> tuple, List<Type> types, int variadic) {
    private static final List<Class<?>> TUPLES =
            List.of(Pair.class, Triple.class, Quadruple.class, Quintuple.class);

    /** That of the type that a factory returns. */
    static ArgumentTuple of(Type function) {
        Type input = argument(function, 0);
        Class<?> raw = TypeUtils.getRawType(input, null);
        boolean isTuple = TUPLES.contains(raw);
        List<Type> types = new ArrayList<>();
        if (isTuple) {
            types.addAll(Arrays.asList(((ParameterizedType) input).getActualTypeArguments()));
        } else {
            types.add(input);
        }
        int variadic = -1;
        for (int i = 0; i < types.size(); i++) {
            if (types.get(i) instanceof ParameterizedType type
                    && type.getRawType() == VariadicArgs.class) {
                types.set(i, type.getActualTypeArguments()[0]);
                variadic = i;
            }
        }
        return new ArgumentTuple(isTuple ? raw : null, types, variadic);
    }

    /** The type that stands for a type parameter of Udaf. */
    static Type argument(Type function, int index) {
        Map<?, Type> arguments = TypeUtils.getTypeArguments(function, Udaf.class);
        Type found =
                arguments == null ? null : arguments.get(Udaf.class.getTypeParameters()[index]);
        if (found == null) {
            throw new IllegalArgumentException(
                    "the factory must return Udaf<…> or TableUdaf<…> with its three types");
        }
        return found;
    }

    Object pack(Object[] arguments) {
        Object[] parts = new Object[types.size()];
        int next = 0;
        for (int i = 0; i < parts.length; i++) {
            int count = i == variadic ? arguments.length - types.size() + 1 : 1;
            parts[i] =
                    i == variadic
                            ? new VariadicArgs<>(
                                    Arrays.asList(
                                            Arrays.copyOfRange(arguments, next, next + count)))
                            : arguments[next];
            next += count;
        }
        if (tuple == null) {
            return parts[0];
        }
        return switch (parts.length) {
            case 2 -> new Pair<>(parts[0], parts[1]);
            case 3 -> new Triple<>(parts[0], parts[1], parts[2]);
            case 4 -> new Quadruple<>(parts[0], parts[1], parts[2], parts[3]);
            default -> new Quintuple<>(parts[0], parts[1], parts[2], parts[3], parts[4]);
        };
    }
}
