#!/usr/bin/env python3
"""Slow, idle, many or interrupted connections, and how the server ends.
Usage: server_connections_test.py REALIZAR."""
import json
import resource
import signal
import socket
import unittest

from server_rig import ANSWER, CHAT, Case, Closed, ENDLESS, LONG, LONG_CONTEXT, Server, post, text_of, main


class Patience(Case):
    """A server that waits for clients only for a moment, which may be too short for honest ones on a busy machine."""
    ARGS = ("--header-timeout-ms", "400", "--body-timeout-ms", "400", "--idle-timeout-ms", "400")

    def tearDown(self):
        self.server.until(self.answers, "an answer")

    def answers(self):
        try:
            return self.exchange(post(CHAT)).answer() == ANSWER
        except (Closed, ConnectionError):
            return False

    def test_slow_loris(self):
        for begin in ["G", "GET /livez HTTP/1.1\r\nHost: localhost\r\n", "GET /livez HTTP/1.1\r\nHost: localhost\r\nA: b\r\n"]:
            with self.subTest(begin), self.server.connect() as client:
                client.send(begin)
                self.server.until(lambda: self.ends_at_a_drip(client), "the end of the connection")

    @staticmethod
    def ends_at_a_drip(client):
        """Whether the server has closed the connection; if it waits, sends another byte."""
        client.socket.settimeout(0.1)
        try:
            return client.socket.recv(1 << 16) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            pass
        try:
            client.send("x")
        except ConnectionError:
            return True
        return False

    def test_a_connection_that_sends_nothing(self):
        with self.server.connect() as client:
            self.assertTrue(client.is_closed())

    def test_a_body_that_stops(self):
        with self.server.connect() as client:
            client.send(post(CHAT)[:-5])
            self.assertEqual(client.reply().status, 408)
            self.assertTrue(client.is_closed())

    def test_an_idle_connection_is_closed_after_its_time(self):
        def is_closed_after_a_reply():
            with self.server.connect() as client:
                try:
                    client.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    return client.reply().status == 200 and client.is_closed()
                except (Closed, ConnectionError):
                    return False
        self.server.until(is_closed_after_a_reply, "the end of an idle connection")


class Connections(Case):
    ARGS = ("--write-timeout-ms", "1000", "--header-timeout-ms", "600000", "--max-queue", "2000", "--max-connections", "3000")

    def settled(self):
        """Nothing runs, and the asking connection is the only one."""
        self.server.until(lambda: self.server.metric("realizar_connections") == 1, "connections to end")
        self.server.until(lambda: self.server.metric("vllm:num_requests_running") == 0, "requests to end")
        self.server.until(lambda: self.server.metric("vllm:kv_cache_usage_perc") == 0, "free KV blocks")

    def test_a_connection_closed_in_the_middle_of_its_body(self):
        for _ in range(50):
            with self.server.connect() as client:
                client.send(post(CHAT)[:-5])
        self.settled()

    def test_a_thousand_connections_opened_and_dropped(self):
        for data in [b"", b"GET /livez HTT", post(CHAT), post({**CHAT, "stream": True})]:
            clients = [self.server.connect() for _ in range(250)]
            for client in clients:
                client.send(data)
            for client in clients:
                client.socket.close()
        self.settled()

    def test_connections_that_are_reset(self):
        for _ in range(20):
            client = self.server.connect()
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            client.send(post(LONG))
            client.head()
            client.socket.close()
        self.settled()

    def test_a_slow_reader_is_cut_off_and_disturbs_nobody(self):
        with self.server.connect(receive_bytes=4096) as slow:
            slow.send(post(LONG))
            slow.head()
            self.server.until(lambda: self.server.metric("vllm:num_requests_running") == 0, "the slow one to be cut off")
            self.assertEqual(self.exchange(post(CHAT)).answer(), ANSWER)
        self.settled()

    def test_a_client_that_reads_no_replies_costs_little(self):
        before_mb = self.server.resident_mb()
        with self.server.connect(receive_bytes=4096) as client:
            client.socket.settimeout(0.3)
            sent = 0
            try:
                while sent < 30_000_000:
                    sent += client.socket.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000)
            except (TimeoutError, ConnectionError):
                pass
            self.assertLess(self.server.resident_mb() - before_mb, 50)
        self.settled()

    def test_a_client_that_leaves_with_requests_ahead(self):
        client = self.server.connect()
        client.send(post(LONG) + b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4000)
        client.head()
        client.socket.close()
        self.settled()

    def test_many_connections_at_once(self):
        clients = [self.server.connect() for _ in range(400)]
        for client in clients:
            client.send(post({**CHAT, "stream": True}))
        for client in clients:
            self.assertEqual(text_of(client.reply()), ANSWER)
            client.socket.close()


class OpenFiles(unittest.TestCase):
    def test_as_many_as_the_system_lets_and_no_more_connections(self):
        server = Server("--header-timeout-ms", "600000", limits={resource.RLIMIT_NOFILE: (50, 300)})
        self.assertEqual(resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE), (300, 300))
        clients = [server.connect() for _ in range(240)]
        n_answered = 0
        for client in clients:
            try:
                client.send("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
                n_answered += client.reply().status == 200
            except (Closed, ConnectionError):
                pass
        self.assertEqual(n_answered, 236)
        for client in clients:
            client.socket.close()
        self.assertEqual(server.stop(), (0, ""))
        self.assertIn("room for 236 connections", server.output)


class Limits(Case):
    ARGS = ("--max-connections", "8")

    def test_connections_beyond_the_limit_are_closed(self):
        clients = [self.server.until(self.server.connect_served, "room for a connection") for _ in range(8)]
        with self.server.connect() as further:
            self.assertTrue(further.is_closed())
        for client in clients:
            client.socket.close()
        self.server.until(self.server.connect_served, "room again").socket.close()

    def tearDown(self):
        self.server.until(self.server.connect_served, "room for a connection").socket.close()


class Drain(unittest.TestCase):
    def test_a_finished_reply_is_sent_whole(self):
        server = Server()
        with server.connect(receive_bytes=4096) as client:
            client.send(post({"input": ["x"] * 1000}, "/v1/embeddings"))
            status, headers = client.head()
            self.assertEqual(status, 200)
            server.process.send_signal(signal.SIGTERM)
            server.until(lambda: not self.accepts(server), "the port to close")
            length = headers.get("content-length")
            body = client.take(int(length)) if length else b"".join(client.chunks())
            self.assertEqual(len(json.loads(body)["data"]), 1000)
        self.assertEqual(server.ended(), (0, ""))

    def test_what_is_cut_off_at_the_end_of_the_time_is_told_so(self):
        server = Server("--drain-timeout-ms", "50", *LONG_CONTEXT)
        endless = {**ENDLESS, "n": 8}
        with server.connect() as stream, server.connect() as whole:
            stream.send(post(endless))
            whole.send(post({**endless, "stream": False}))
            stream.head()
            server.until(lambda: server.metric("vllm:num_requests_running") == 16, "both requests")
            server.process.send_signal(signal.SIGTERM)
            events = b"".join(stream.chunks())  # to the last chunk
            self.assertEqual(json.loads(events.rstrip().rsplit(b"data: ", 1)[1])["error"]["code"], "shutting_down")
            reply = whole.reply()
            self.assertEqual((reply.status, reply.json()["error"]["code"]), (503, "shutting_down"))
        code, stderr = server.ended()
        self.assertEqual(code, 1)
        self.assertIn("2 requests were cut off", stderr)

    def test_what_has_arrived_when_it_is_told_to_end_is_answered(self):
        """On connections that it has not accepted yet, on an idle one, and after a running request."""
        server = Server()
        idle, busy, silent = server.connect_served(), server.connect(), server.connect()
        busy.send(post(ENDLESS | {"max_tokens": 500}))
        busy.head()
        server.process.send_signal(signal.SIGSTOP)
        waiting = [server.connect() for _ in range(40)]
        for client in (*waiting, idle, busy):
            client.send(post(CHAT))
        server.process.send_signal(signal.SIGTERM)
        server.process.send_signal(signal.SIGCONT)
        self.assertIn(b"[DONE]", b"".join(busy.chunks()))
        for client in waiting:
            reply = client.reply()
            self.assertEqual((reply.status, reply.headers["connection"]), (503, "close"))
            self.assertEqual(reply.json()["error"]["code"], "shutting_down")
        for client in (idle, busy):
            self.assertIn(client.reply().status, (200, 503), "their requests may be seen before the signal")
        for client in (*waiting, idle, busy):
            self.assertTrue(client.is_closed())
            client.socket.close()
        self.assertTrue(silent.is_closed())
        silent.socket.close()
        self.assertEqual(server.ended(), (0, ""))

    def test_what_is_half_sent_is_not_waited_for(self):
        server = Server("--drain-timeout-ms", "3600000", "--body-timeout-ms", "3600000")
        halves = [post(CHAT)[:-5], post(CHAT)[:30]]
        clients = [server.connect() for _ in halves]
        for client, half in zip(clients, halves):
            client.send(half)
        server.until(lambda: server.metric("realizar_connections") == 3, "both requests' beginnings")
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.ended(), (0, ""))
        for client in clients:
            client.socket.close()

    def test_a_body_may_come_after_its_request_was_cut_off(self):
        server = Server("--drain-timeout-ms", "50")
        with server.connect() as client:
            client.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
                        b"Expect: 100-continue\r\n\r\n")
            self.assertEqual(client.head()[0], 100)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(client.reply().json()["error"]["code"], "shutting_down")
            client.send(b"{}")
        code, stderr = server.ended()
        self.assertEqual(code, 1)
        self.assertIn("1 requests were cut off", stderr)

    def test_a_hangup_drains(self):
        server = Server()
        with server.connect() as client:
            client.send(post({**CHAT, "stream": True}))
            client.head()
            server.process.send_signal(signal.SIGHUP)
            self.assertIn(b"[DONE]", b"".join(client.chunks()))
        self.assertEqual(server.ended(), (0, ""))

    def test_a_second_signal_ends_it_at_once_whatever_is_under_way(self):
        """Requests run, wait, arrive and are half sent."""
        for second in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            server = Server("--max-queue", "1000")
            clients = [server.connect() for _ in range(60)]
            for i, client in enumerate(clients):
                client.send(post(LONG) if i % 2 else post(CHAT)[:-1 - i])
            clients[1].head()
            server.process.send_signal(signal.SIGTERM)
            server.until(lambda: not self.accepts(server), "the port to close")
            server.process.send_signal(second)
            self.assertEqual(server.ended(), (1, ""), "not everything was served")
            for client in clients:
                client.socket.close()

    @staticmethod
    def accepts(server):
        try:
            server.connect().socket.close()
            return True
        except OSError:
            return False


if __name__ == "__main__":
    main()
