import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.functions.ScalarFunction;

/**
 * Runs one Flink SQL query after another in one process, so that its JVM stays warm.
 *
 * <pre>FlinkQueries OPTION=VALUE…</pre>
 *
 * <p>Each line of standard input is the path of a file of statements; an empty line cancels its
 * job. Each line is answered by one line, which says what has failed. The process ends with standard input.
 */
public final class FlinkQueries {

  /** How often a letter is in a text. */
  public static final class CountChar extends ScalarFunction {
    public long eval(String text, String letter) {
      long count = 0;
      char wanted = letter.charAt(0);
      for (int i = 0; text != null && i < text.length(); i++) {
        if (text.charAt(i) == wanted) {
          count++;
        }
      }
      return count;
    }
  }

  private FlinkQueries() {}

  public static void main(String[] options) throws Exception {
    Configuration configuration = new Configuration();
    for (String option : options) {
      String[] pair = option.split("=", 2);
      configuration.setString(pair[0], pair[1]);
    }
    TableEnvironment tables =
        TableEnvironment.create(
            EnvironmentSettings.newInstance()
                .inStreamingMode()
                .withConfiguration(configuration)
                .build());
    tables.createTemporarySystemFunction("count_char", CountChar.class);
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    TableResult running = null;
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (running != null) {
        if (running.getJobClient().isPresent()) {
          running.getJobClient().get().cancel().get();
        }
        running = null;
      }
      String answer = "stopped";
      if (!line.isEmpty()) {
        try {
          running = run(tables, Path.of(line));
          answer = "started";
        } catch (RuntimeException e) {
          e.printStackTrace();
          answer = "failed: " + e.getMessage().lines().findFirst().orElse("");
        }
      }
      System.out.println(answer);
    }
    System.exit(0);
  }

  private static TableResult run(TableEnvironment tables, Path script) throws IOException {
    TableResult last = null;
    for (String statement : Files.readString(script).split(";\\s*\n")) {
      if (!statement.isBlank()) {
        last = tables.executeSql(statement);
      }
    }
    // without a logger, nothing else tells why a job has failed
    last.getJobClient()
        .ifPresent(
            job ->
                job.getJobExecutionResult()
                    .whenComplete(
                        (result, failure) -> {
                          if (failure != null) {
                            failure.printStackTrace();
                          }
                        }));
    return last;
  }
}
