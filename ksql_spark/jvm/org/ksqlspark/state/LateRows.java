package org.ksqlspark.state;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.ksqlspark.log.LateRow;

import scala.collection.immutable.Seq;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/**
 * What the processing log shows of an operator's late records. Their places and bytes are in the
 * operator's input; they become text only when a record is late. Not thread-safe once used.
 */
final class LateRows implements Serializable {
    private static final long serialVersionUID = 1;

    /**
     * Setting of the query's session, a JSON object; empty: late records are only counted. It has
     * the step for the logger's name, for each side the topic of its records, or null, and, unless
     * columns are not to be shown, the texts of the key and of each side's columns as JSON, over
     * the columns k and v.
     */
    static final String SETTING = "spark.ksql.lateRows";

    private static final int KEY = 1;
    private static final int SIDE = 2;
    private static final int TIME = 3;
    private static final int VALUE = 4;
    private static final int PARTITION = 6;
    private static final int OFFSET = 7;

    final String step;
    private final List<String> topics;
    private final Seq<Expression> shown;
    private final Seq<Attribute> input;
    private transient UnsafeProjection projection;

    private LateRows(
            String step, List<String> topics, Seq<Expression> shown, Seq<Attribute> input) {
        this.step = step;
        this.topics = topics;
        this.shown = shown;
        this.input = input;
    }

    /** Those of the operator over {@code rows}; null: they are only counted. */
    static LateRows of(Dataset<Row> rows) {
        String setting = rows.sparkSession().conf().get(SETTING, "");
        if (setting.isEmpty()) {
            return null;
        }
        try {
            JsonNode all = new ObjectMapper().readTree(setting);
            List<String> topics = new ArrayList<>();
            all.path("topics").forEach(topic -> topics.add(topic.textValue()));
            List<String> texts = new ArrayList<>();
            all.path("shown").forEach(text -> texts.add(text.textValue()));
            String step = all.path("step").textValue();
            if (texts.isEmpty()) {
                return new LateRows(step, topics, null, null);
            }
            LogicalPlan plan =
                    rows.sparkSession()
                            .range(0)
                            .selectExpr("cast(null AS binary) AS k", "cast(null AS binary) AS v")
                            .selectExpr(texts.toArray(new String[0]))
                            .queryExecution()
                            .analyzed();
            Project project = (Project) ReplaceExpressions$.MODULE$.apply(plan);
            List<Expression> found = new ArrayList<>();
            scala.jdk.javaapi.CollectionConverters.asJava(project.projectList())
                    .forEach(one -> found.add(Aggregator.withoutNames((Expression) one)));
            Iterable<Expression> columns = found;
            return new LateRows(
                    step,
                    topics,
                    scala.jdk.javaapi.CollectionConverters.asScala(columns).toSeq(),
                    project.child().output());
        } catch (JsonProcessingException bad) {
            throw new IllegalArgumentException(bad);
        }
    }

    /** The late row of an operator's input. */
    LateRow of(Row record, LateRow.Lateness found) {
        int side = record.getInt(SIDE);
        String topic = side < topics.size() ? topics.get(side) : null;
        boolean isKnown = topic != null && !record.isNullAt(PARTITION);
        String key = null;
        String value = null;
        if (shown != null) {
            if (projection == null) {
                projection = UnsafeProjection.create(shown, input);
            }
            InternalRow bytes =
                    new GenericInternalRow(new Object[] {record.get(KEY), record.get(VALUE)});
            UnsafeRow texts = projection.apply(bytes);
            key = text(texts, 0);
            value = text(texts, 1 + side);
        }
        return new LateRow(
                isKnown ? topic : null,
                isKnown ? record.getInt(PARTITION) : 0,
                isKnown ? record.getLong(OFFSET) : 0,
                key,
                value,
                record.getLong(TIME),
                found);
    }

    private static String text(UnsafeRow row, int i) {
        return row.isNullAt(i) ? null : row.getUTF8String(i).toString();
    }
}
