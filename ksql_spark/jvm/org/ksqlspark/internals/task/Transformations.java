package org.ksqlspark.internals.task;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;

import scala.collection.immutable.List$;
import scala.jdk.javaapi.CollectionConverters;

import java.util.ArrayList;
import java.util.List;

/**
 * Projections and filters, one over the other, that Spark analyses together. As calls of a frame,
 * each of them is analysed alone, which takes as long as for all.
 */
public final class Transformations {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final SparkSession session;

    private Transformations(SparkSession session) {
        this.session = session;
    }

    /**
     * A frame with transformations over it.
     *
     * @param frame the rows
     * @param transformations an array in JSON, with an array of texts in Spark SQL for each of
     *     them: "SELECT" and the columns, each with a name, or "FILTER" and the condition
     * @throws IllegalArgumentException where a text is not Spark SQL
     */
    public static Dataset<Row> apply(Dataset<Row> frame, String transformations)
            throws JsonProcessingException {
        String[][] texts = JSON.readValue(transformations, String[][].class);
        SparkSession session = frame.sparkSession();
        // texts are parsed with the settings of the session that is active, casts above all
        return session.withActive(
                () -> new Transformations(session).over(frame.logicalPlan(), texts));
    }

    private Dataset<Row> over(LogicalPlan below, String[][] transformations) {
        LogicalPlan plan = below;
        for (String[] texts : transformations) {
            plan =
                    "FILTER".equals(texts[0])
                            ? new Filter(parsed(texts[1]), plan)
                            : projected(texts, plan);
        }
        return Dataset.ofRows(session, plan);
    }

    private LogicalPlan projected(String[] texts, LogicalPlan plan) {
        List<NamedExpression> columns = new ArrayList<>();
        for (int i = 1; i < texts.length; i++) {
            columns.add((NamedExpression) parsed(texts[i]));
        }
        return new Project(List$.MODULE$.from(CollectionConverters.asScala(columns)), plan);
    }

    private Expression parsed(String text) {
        try {
            return session.sessionState().sqlParser().parseExpression(text);
        } catch (ParseException notSql) {
            throw new IllegalArgumentException(text, notSql);
        }
    }
}
