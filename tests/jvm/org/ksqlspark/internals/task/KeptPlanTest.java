package org.ksqlspark.internals.task;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestamp;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.optimizer.Optimizer;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.SparkDataStream;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2;
import org.apache.spark.sql.execution.streaming.runtime.LongOffset;
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite;
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSource;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.junit.jupiter.api.Test;

import scala.Option;
import scala.collection.immutable.List$;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

import java.util.List;

@SuppressWarnings("deprecation") // Spark still makes a WriteToDataSourceV2 of a streaming write
final class KeptPlanTest {
    private final SparkDataStream stream = new Stream();
    private final StreamingDataSourceV2Relation relation =
            new StreamingDataSourceV2Relation(
                    null,
                    seq(List.of()),
                    Option.empty(),
                    Option.empty(),
                    CaseInsensitiveStringMap.empty(),
                    "",
                    Option.empty(),
                    null);
    private final Counting spark = new Counting();
    private final KeptPlan kept = new KeptPlan(spark, () -> null, null);

    /** In place of Spark's optimizer: makes of a plan what Spark makes of it in the end. */
    private static final class Counting extends Optimizer {
        private int plans;

        Counting() {
            super(null);
        }

        @Override
        public LogicalPlan execute(LogicalPlan plan) {
            plans++;
            return plan instanceof WriteToMicroBatchDataSource write
                    ? new WriteToDataSourceV2(
                            Option.empty(),
                            new MicroBatchWrite((Long) write.batchId().get(), null),
                            write.query(),
                            seq(List.of()))
                    : plan;
        }
    }

    private static final class Stream implements SparkDataStream {
        @Override
        public Offset initialOffset() {
            return new LongOffset(0);
        }

        @Override
        public Offset deserializeOffset(String json) {
            return new LongOffset(Long.parseLong(json));
        }

        @Override
        public void commit(Offset end) {}

        @Override
        public void stop() {}
    }

    private static <T> Seq<T> seq(List<T> all) {
        return List$.MODULE$.from(CollectionConverters.asScala(all));
    }

    private StreamingDataSourceV2ScanRelation scan(long start, long end) {
        return new StreamingDataSourceV2ScanRelation(
                relation,
                null,
                seq(List.of()),
                stream,
                Option.apply(new LongOffset(start)),
                Option.apply(new LongOffset(end)));
    }

    private static LogicalPlan with(Expression value, LogicalPlan child) {
        NamedExpression column =
                new Alias(
                        value,
                        "x",
                        new ExprId(1, null),
                        seq(List.of()),
                        Option.empty(),
                        seq(List.of()));
        return new Project(seq(List.of(column)), child);
    }

    private static <T> T first(Seq<T> all) {
        return CollectionConverters.asJava(all).get(0);
    }

    private static Expression number(int value) {
        return new Literal(value, DataTypes.IntegerType);
    }

    private static LogicalPlan batch(long number, LogicalPlan query) {
        return new WriteToMicroBatchDataSource(
                null, query, "id", Map$.MODULE$.empty(), null, Option.apply(number));
    }

    private static StreamingDataSourceV2ScanRelation scanOf(LogicalPlan plan) {
        return (StreamingDataSourceV2ScanRelation) first(plan.collectLeaves());
    }

    @Test
    void theNextBatchHasThePlanOfTheOneBeforeAndItsOwnOffsets() {
        kept.execute(batch(0, with(number(1), scan(0, 5))));
        LogicalPlan next = kept.execute(batch(1, with(number(1), scan(5, 9))));
        assertEquals(1, spark.plans);
        MicroBatchWrite write = (MicroBatchWrite) ((WriteToDataSourceV2) next).batchWrite();
        assertEquals(new MicroBatchWrite(1, null).toString(), write.toString());
        assertEquals(new LongOffset(5), scanOf(next).startOffset().get());
        assertEquals(new LongOffset(9), scanOf(next).endOffset().get());
        assertSame(stream, scanOf(next).stream());
    }

    @Test
    void anotherPlanIsOptimized() {
        kept.execute(batch(0, with(number(1), scan(0, 5))));
        LogicalPlan next = kept.execute(batch(1, with(number(2), scan(5, 9))));
        assertEquals(2, spark.plans);
        Project project = (Project) first(next.children());
        assertEquals(number(2), first(first(project.expressions()).children()));
    }

    @Test
    void aPlanWithTheTimeOfNowIsOptimizedEachTime() {
        kept.execute(batch(0, with(new CurrentTimestamp(), scan(0, 5))));
        kept.execute(batch(1, with(new CurrentTimestamp(), scan(5, 9))));
        assertEquals(2, spark.plans);
    }

    @Test
    void aPlanWithAnotherSourceIsOptimizedEachTime() {
        kept.execute(batch(0, new OneRowRelation()));
        kept.execute(batch(1, new OneRowRelation()));
        assertEquals(2, spark.plans);
    }
}
