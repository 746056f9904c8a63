package org.ksqlspark.internals.task;

import org.apache.spark.sql.execution.SparkPlan;

import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

import java.util.List;

/** Plans as Scala wants them. */
final class Plans {
    private Plans() {}

    static Seq<SparkPlan> seq(List<SparkPlan> plans) {
        return List$.MODULE$.from(CollectionConverters.asScala(plans));
    }
}
