package org.ksqlspark.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.util.ConfigUtil;
import org.junit.jupiter.api.Test;

class HadoopDefaultsTest {
    private static Configuration forgotten() {
        ConfigUtil.loadResources();
        Configuration settings = new Configuration();
        assertNotNull(settings.get("yarn.acl.enable"));
        settings.set("yarn.own", "1");
        settings.set("yarn.nodemanager.vmem-pmem-ratio", "7");
        HadoopDefaults.forget(settings);
        return settings;
    }

    @Test
    void defaultsOfYarnAndMapReduceAreNotCopied() {
        Configuration copy = new Configuration(forgotten());
        assertNull(copy.get("yarn.acl.enable"));
        assertNull(copy.get("mapreduce.job.maps"));
        assertTrue(copy.size() < 500, "has " + copy.size());
    }

    @Test
    void whatSomebodySetStays() {
        Configuration settings = forgotten();
        assertEquals("1", settings.get("yarn.own"));
        assertEquals("7", settings.get("yarn.nodemanager.vmem-pmem-ratio"));
    }

    @Test
    void otherDefaultsStay() {
        assertEquals("file:///", new Configuration(forgotten()).get("fs.defaultFS"));
    }
}
