/* The limit that `terrazzo bench session` measures our client session beside: the least that receives, opens, seals and
   sends the same packets through the same sockets with the same library.

   A client is a key and two counters. Nothing is checked but the seal; there is no replay window, no acknowledgement, no
   timer, no resending, no address that changes: a packet goes to the place that the last one came from. `limit_in` and
   `limit_out` are what is measured; `limit_clients` plays the clients, and is not. */

#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MANY 64
#define SLOT 2048
#define HEADER 9
#define TAG 16

typedef int (*Encrypt)(uint8_t *, unsigned long long *, const uint8_t *, unsigned long long, const uint8_t *,
                       unsigned long long, const uint8_t *, const uint8_t *, const uint8_t *);
typedef int (*Decrypt)(uint8_t *, unsigned long long *, uint8_t *, const uint8_t *, unsigned long long,
                       const uint8_t *, unsigned long long, const uint8_t *, const uint8_t *);

typedef struct {
    uint8_t key[32];
    uint32_t sent, received;
    struct sockaddr_in place;
} Client;

typedef struct {
    Encrypt encrypt;
    Decrypt decrypt;
    int count;
    Client *clients;
    uint8_t *packets; /* MANY of SLOT bytes */
    uint8_t body[SLOT];
    struct sockaddr_in server;
} Limit;

Limit *limit_new(int count, void *encrypt, void *decrypt, int port) {
    Limit *limit = calloc(1, sizeof *limit);
    limit->encrypt = (Encrypt)encrypt;
    limit->decrypt = (Decrypt)decrypt;
    limit->count = count;
    limit->clients = calloc(count, sizeof(Client));
    limit->packets = malloc(MANY * SLOT);
    limit->server.sin_family = AF_INET;
    limit->server.sin_port = htons((uint16_t)port);
    limit->server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < count; i++) memcpy(limit->clients[i].key, &i, sizeof i);
    return limit;
}

void limit_free(Limit *limit) {
    free(limit->clients);
    free(limit->packets);
    free(limit);
}

static void nonce_of(uint8_t *nonce, uint32_t number) {
    memset(nonce, 0, 12);
    memcpy(nonce + 4, &number, 4);
}

static int seal(Limit *limit, uint8_t *packet, uint32_t id, uint32_t number, int size) {
    uint8_t nonce[12];
    unsigned long long sealed = 0;
    packet[0] = 6;
    memcpy(packet + 1, &id, 4);
    memcpy(packet + 5, &number, 4);
    nonce_of(nonce, number);
    limit->encrypt(packet + HEADER, &sealed, limit->body, (unsigned long long)(size - HEADER - TAG), packet, HEADER,
                   NULL, nonce, limit->clients[id].key);
    return HEADER + (int)sealed;
}

/* Reads what has come and opens it; gives how many packets were authentic. */
int limit_in(Limit *limit, int fd) {
    struct mmsghdr many[MANY];
    struct iovec places[MANY];
    struct sockaddr_in names[MANY];
    uint8_t nonce[12];
    int opened = 0;
    for (;;) {
        memset(many, 0, sizeof many);
        for (int i = 0; i < MANY; i++) {
            places[i].iov_base = limit->packets + i * SLOT;
            places[i].iov_len = SLOT;
            many[i].msg_hdr.msg_iov = &places[i];
            many[i].msg_hdr.msg_iovlen = 1;
            many[i].msg_hdr.msg_name = &names[i];
            many[i].msg_hdr.msg_namelen = sizeof names[i];
        }
        int got = recvmmsg(fd, many, MANY, MSG_DONTWAIT, NULL);
        for (int i = 0; i < got; i++) {
            uint8_t *packet = limit->packets + i * SLOT;
            uint32_t id, number;
            unsigned long long size = 0;
            memcpy(&id, packet + 1, 4);
            memcpy(&number, packet + 5, 4);
            if (many[i].msg_len < HEADER + TAG || id >= (uint32_t)limit->count) continue;
            Client *client = &limit->clients[id];
            nonce_of(nonce, number | 0x80000000u);
            if (limit->decrypt(limit->body, &size, NULL, packet + HEADER, many[i].msg_len - HEADER, packet, HEADER, nonce,
                               client->key))
                continue;
            client->received++;
            client->place = names[i];
            opened++;
        }
        if (got < MANY) return opened;
    }
}

/* Sends one packet to each client; gives how many the system took. */
int limit_out(Limit *limit, int fd, int size) {
    struct mmsghdr many[MANY];
    struct iovec places[MANY];
    int sent = 0;
    for (int from = 0; from < limit->count; from += MANY) {
        int wanted = limit->count - from < MANY ? limit->count - from : MANY;
        memset(many, 0, sizeof many);
        for (int i = 0; i < wanted; i++) {
            Client *client = &limit->clients[from + i];
            places[i].iov_base = limit->packets + i * SLOT;
            places[i].iov_len = (size_t)seal(limit, limit->packets + i * SLOT, (uint32_t)(from + i), client->sent++, size);
            many[i].msg_hdr.msg_iov = &places[i];
            many[i].msg_hdr.msg_iovlen = 1;
            many[i].msg_hdr.msg_name = &client->place;
            many[i].msg_hdr.msg_namelen = sizeof client->place;
        }
        int took = sendmmsg(fd, many, (unsigned)wanted, MSG_DONTWAIT);
        sent += took > 0 ? took : 0;
    }
    return sent;
}

/* The clients `from` to `to` send a packet each through this socket, after what has come there is thrown away; gives
   how many packets that were. */
int limit_clients(Limit *limit, int fd, int from, int to, int size) {
    uint8_t packet[SLOT], nonce[12];
    int came = 0;
    while (recv(fd, packet, sizeof packet, MSG_DONTWAIT) >= 0) came++;
    for (int id = from; id < to; id++) {
        uint32_t number = limit->clients[id].received;
        unsigned long long sealed = 0;
        packet[0] = 6;
        memcpy(packet + 1, &id, 4);
        memcpy(packet + 5, &number, 4);
        nonce_of(nonce, number | 0x80000000u);
        limit->encrypt(packet + HEADER, &sealed, limit->body, (unsigned long long)(size - HEADER - TAG), packet, HEADER,
                       NULL, nonce, limit->clients[id].key);
        sendto(fd, packet, HEADER + (size_t)sealed, MSG_DONTWAIT, (struct sockaddr *)&limit->server,
               sizeof limit->server);
    }
    return came;
}
