import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.*;

/** Writes into topics as another program would, and prints the number of messages: BROKERS SEED TOPIC... */
public class Forge {
    static Random chance;
    static Producer<byte[], byte[]> producer;
    static int sent = 0;

    static void send(String topic, byte[] key, byte[] value, RecordHeaders headers) throws Exception {
        producer.send(new ProducerRecord<>(topic, null, key, value, headers)).get();
        sent++;
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static byte[] garbage() {
        byte[] some = new byte[1 + chance.nextInt(300)];
        chance.nextBytes(some);
        return some;
    }

    /** Every id becomes another one. */
    static String otherIds(String text) {
        return java.util.regex.Pattern.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").matcher(text)
            .replaceAll(id -> new UUID(chance.nextLong(), chance.nextLong()).toString());
    }

    static RecordHeaders with(RecordHeaders headers, String name, String value) {
        RecordHeaders copy = new RecordHeaders(headers.toArray());
        copy.remove(name);
        copy.add(name, bytes(value));
        return copy;
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", args[0]);
        settings.put("acks", "all");
        settings.put("delivery.timeout.ms", 60000);
        settings.put("isolation.level", "read_committed");
        chance = new Random(Long.parseUnsignedLong(args[1]));
        List<String> topics = Arrays.asList(args).subList(2, args.length);
        List<ConsumerRecord<byte[], byte[]>> real = new ArrayList<>();
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            List<TopicPartition> all = new ArrayList<>();
            for (String topic : topics) {
                consumer.partitionsFor(topic).forEach(one -> all.add(new TopicPartition(topic, one.partition())));
            }
            consumer.assign(all);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            // the last messages: some of their transfers are under way
            ends.forEach((partition, end) -> consumer.seek(partition, Math.max(0, end - 4)));
            for (int polls = 0; polls < 10; polls++) {
                consumer.poll(Duration.ofMillis(200)).forEach(real::add);
            }
        }
        real.removeIf(one -> one.value() == null || one.headers().lastHeader("ce_id") == null);
        if (real.isEmpty()) {
            throw new IllegalStateException("there is no real message yet");
        }
        producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        for (String topic : topics) {
            send(topic, garbage(), garbage(), new RecordHeaders());
            send(topic, null, null, new RecordHeaders());
        }
        Collections.shuffle(real, chance);
        for (ConsumerRecord<byte[], byte[]> one : real.subList(0, Math.min(24, real.size()))) {
            String text = new String(one.value(), StandardCharsets.UTF_8);
            RecordHeaders headers = new RecordHeaders(one.headers().toArray());
            RecordHeaders fresh = with(headers, "ce_id", new UUID(chance.nextLong(), chance.nextLong()).toString());
            String more = text.replaceAll("(\"amount\":\\s*\"?)[0-9.]+", "$1" + (1 + chance.nextInt(900)));
            String other = topics.get(chance.nextInt(topics.size()));
            send(one.topic(), one.key(), bytes(otherIds(text)), fresh);
            send(one.topic(), one.key(), bytes(more), headers);
            send(other, one.key(), bytes(more), headers);
            send(other, one.key(), bytes(more), fresh);
        }
        producer.close();
        System.out.println(sent);
    }
}
