package org.ksqlspark.internals.task;

import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnaryExecNode;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanExecBase;
import org.apache.spark.sql.execution.datasources.v2.MicroBatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.RealTimeStreamScanExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec;

import scala.Function1;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * Changes what is below a keyed operator of a streaming query, as its session says.
 *
 * <p>Spark exchanges rows between tasks before an operator with state, since a source cannot say
 * how its rows are distributed. Where they are where they belong, that exchange is taken out again,
 * and the sort that a micro-batch does for it. The exchange between two operators stays as it is.
 */
final class TaskRule extends Rule<SparkPlan> {
    /** KEEP or REMOVE; where it is not set, plans stay as they are. */
    static final String EXCHANGE = "spark.ksql.task.exchange";

    /**
     * The numbers of further operators whose rows stay in the task of the one below, separated by
     * commas.
     */
    static final String STAYING = "spark.ksql.task.staying";

    /** Whether the inputs of the operator meet in the order of their times. */
    static final String MERGE = "spark.ksql.task.merge";

    /** How often, ms, rows say that time passes; 0: never. */
    static final String HEARTBEAT_MS = "spark.ksql.task.heartbeat.ms";

    /** The tasks whose time passes, separated by commas; none: those of a reader's partitions. */
    static final String HEARTBEAT_TASKS = "spark.ksql.task.heartbeat.tasks";

    @Override
    public SparkPlan apply(SparkPlan plan) {
        String exchange = conf().getConfString(EXCHANGE, "");
        if (exchange.isEmpty() || !readsStream(plan)) {
            return plan;
        }
        SparkPlan made =
                rewritten(
                        plan,
                        node -> {
                            if (!(node instanceof ShuffleExchangeExec shuffle)
                                    || !readsStream(shuffle.child())
                                    || operators(shuffle.child()) > 0) {
                                return node;
                            }
                            SparkPlan child =
                                    isMerging() ? merged(shuffle.child()) : shuffle.child();
                            return exchange.equals("REMOVE")
                                    ? child
                                    : child == shuffle.child()
                                            ? shuffle
                                            : shuffle.withNewChildren(Plans.seq(List.of(child)));
                        });
        SparkPlan staying = rewritten(made, this::withoutExchange);
        return exchange.equals("REMOVE")
                ? rewritten(staying, node -> node instanceof SortExec sort ? sort.child() : node)
                : staying;
    }

    /** An operator whose rows stay in their task, without the exchange and the sort below it. */
    private SparkPlan withoutExchange(SparkPlan node) {
        if (!(node instanceof TransformWithStateExec operator)) {
            return node;
        }
        SparkPlan child = operator.child();
        String number = String.valueOf(operators(child));
        if (!List.of(conf().getConfString(STAYING, "").split(",")).contains(number)) {
            return node;
        }
        while (child instanceof SortExec || child instanceof ShuffleExchangeExec) {
            child = ((UnaryExecNode) child).child();
        }
        return operator.withNewChildren(Plans.seq(List.of(child, operator.right())));
    }

    /** How many operators with state there are. */
    private static int operators(SparkPlan plan) {
        int own = plan instanceof TransformWithStateExec ? 1 : 0;
        return own
                + CollectionConverters.asJava(plan.children()).stream()
                        .mapToInt(TaskRule::operators)
                        .sum();
    }

    private boolean isMerging() {
        return Boolean.parseBoolean(conf().getConfString(MERGE, "false"));
    }

    private SparkPlan merged(SparkPlan input) {
        if (input instanceof MergeExec) {
            return input;
        }
        List<SparkPlan> branches = new ArrayList<>();
        List<SparkPlan> inputs =
                input instanceof UnionExec union
                        ? CollectionConverters.asJava(union.children())
                        : List.of(input);
        for (SparkPlan branch : inputs) {
            branches.add(
                    rewritten(
                            branch,
                            node ->
                                    isScan(node)
                                            ? new MergeScanExec((DataSourceV2ScanExecBase) node)
                                            : node));
        }
        long heartbeat = Long.parseLong(conf().getConfString(HEARTBEAT_MS, "0"));
        String tasks = conf().getConfString(HEARTBEAT_TASKS, "");
        return new MergeExec(Plans.seq(branches), input.output(), heartbeat, tasks);
    }

    private static boolean isScan(SparkPlan node) {
        return node instanceof RealTimeStreamScanExec || node instanceof MicroBatchScanExec;
    }

    private static boolean readsStream(SparkPlan plan) {
        return isScan(plan)
                || CollectionConverters.asJava(plan.children()).stream()
                        .anyMatch(TaskRule::readsStream);
    }

    private static SparkPlan rewritten(SparkPlan plan, UnaryOperator<SparkPlan> rule) {
        return plan.transformUp(
                new AbstractPartialFunction<SparkPlan, SparkPlan>() {
                    @Override
                    public boolean isDefinedAt(SparkPlan node) {
                        return true;
                    }

                    @Override
                    @SuppressWarnings("unchecked")
                    public <A1 extends SparkPlan, B1> B1 applyOrElse(
                            A1 node, Function1<A1, B1> otherwise) {
                        return (B1) rule.apply(node);
                    }
                });
    }
}
