package org.ksqlspark.catalog;

import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.ksqlspark.extension.JarFunctions;
import org.ksqlspark.formats.FormatFunctions;
import org.ksqlspark.functions.FunctionTable;
import org.ksqlspark.functions.Limits;
import org.ksqlspark.functions.ScalarFunctions;
import org.ksqlspark.log.LogFunctions;
import org.ksqlspark.python.PythonFunctions;
import org.ksqlspark.state.AggregateFunctions;

/**
 * The functions that Catalyst lacks, available in Spark SQL text as {@code ksql.`name`(...)}.
 *
 * <p>A function that needs a schema has it in its name after a colon, as Spark DDL: {@code
 * ksql.`decode_json:A INT, B STRING`(value)}.
 */
public final class KsqlCatalog implements FunctionCatalog {
    private static final FunctionTable FUNCTIONS = functions();

    private String name;
    private Limits limits;

    private static FunctionTable functions() {
        FunctionTable table = new FunctionTable();
        ScalarFunctions.addTo(table);
        FormatFunctions.addTo(table);
        AggregateFunctions.addTo(table);
        LogFunctions.addTo(table);
        JarFunctions.addTo(table);
        table.add("python", call -> PythonFunctions.bind(call.argument(), call.types()));
        return table;
    }

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {
        this.name = name;
        this.limits = Limits.of(options);
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Identifier[] listFunctions(String[] namespace) {
        return new Identifier[0];
    }

    @Override
    public UnboundFunction loadFunction(Identifier identifier) {
        String full = identifier.name();
        int colon = full.indexOf(':');
        String argument = colon < 0 ? "" : full.substring(colon + 1);
        FunctionTable.Maker maker = FUNCTIONS.find(colon < 0 ? full : full.substring(0, colon));
        if (maker == null) {
            throw new IllegalArgumentException("no function " + full + " in catalog " + name);
        }
        return new Unbound(full, argument, maker, limits);
    }

    /**
     * A function with one signature: binding accepts the types as they are, because the plan is
     * typed already.
     */
    private record Unbound(String name, String argument, FunctionTable.Maker maker, Limits limits)
            implements UnboundFunction {
        @Override
        public BoundFunction bind(StructType types) {
            return maker.make(new FunctionTable.Call(name, argument, types, limits));
        }

        @Override
        public String description() {
            return name;
        }
    }
}
