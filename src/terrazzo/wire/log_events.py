"""What the apps of a cluster log and count, by name, with one sentence each.

    LogEvent     an event that is written into a log with its facts; some apps also count it
    Count        an event that is only counted, since it is frequent or no problem

    self.host.log(LogEvent.CLIENT_LOST, entity=str(self), reason=reason)
    self.counts.add(Count.FRAME_RESENT)

The value of a member is its wording in logs, views and metrics: one wording for one event, whichever app logs it. To
add an event: add a member, log or count it, and run `make metrics`, which writes its row into docs/metrics.md.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum


class EventName(StrEnum):
    """Base of the enums of events. Members are written `NAME = "wording", "One sentence."`."""

    sentence: str

    def __new__(cls, value: str, sentence: str) -> EventName:
        """Stores the sentence in the member."""
        made = str.__new__(cls, value)
        made._value_ = value
        made.sentence = sentence
        return made


class LogEvent(EventName):
    """What is logged."""

    # Any app.
    STARTED = "started", "An app has started."
    STOPPING = "stopping", "An app was told to stop, and ends what it has begun."
    ENDED = "ended", "An app has ended."
    ENDED_EARLY = (
        "ended before everything was done",
        "An app did not finish its work in the time that it has to end.",
    )
    APP_FAILED = "failed", "An app ended because of an error."
    TICKS_SKIPPED = "ticks skipped", "An app was so late that it left out ticks."
    LINK_UP = "link up", "Two apps are linked."
    LINK_LOST = "link lost", "A link between two apps was lost, or could not be made."
    LINK_REFUSED = "link refused", "An app refused a link that a peer asked for."
    LINK_REFUSED_BY_PEER = "link refused by the peer", "A peer refused a link that this app asked for."
    CONNECTION_DROPPED = "connection dropped", "An app closed a connection with a peer that was silent or too slow."
    CONNECTION_CUT = (
        "connection cut",
        "An app cut a connection because of what the peer sent or did not read.",
    )
    DIAL_FAILED = "dial failed", "A connection with a peer could not be opened."
    UDP_BUFFER_SMALL = "small UDP buffer", "The system gave a UDP socket a smaller buffer than the settings ask for."
    BANS_READ = "bans read", "An app with doors read the bans of its world, because they had changed."
    BANS_UNREADABLE = "bans unreadable", "The file of bans cannot be read; the bans stay as they were."
    MESSAGE_REFUSED = "message refused", "A peer sent a message, or a bundle of them, that cannot be accepted."
    UNEXPECTED_ANSWER = "unexpected answer", "A peer answered a request with a message of the wrong kind."
    NOT_LOCATED = "not located", "The search for an entity had no answer; it is repeated while messages wait for it."
    ASTRAY = "astray", "A frame came for a part that is not here, and no onward place of it is known."
    GAME_ERROR = "game error", "Code of the game raised an exception, or did what it may not."
    ENTITY_WORK_FAILED = (
        "entity work failed", "The engine's work for one entity raised an exception; all other entities went on."
    )  # fmt: skip
    ENTITY_GONE = "method of an entity that is not here", "A method went on after its entity had left or ended."
    UNDELIVERED = "undelivered", "Messages for a part can never be delivered; their sender is notified."
    CALL_REFUSED = "call refused", "A call names no method, is not exposed to its caller, or does not decode."
    MAIL_REFUSED = "mail refused", "A part received a message that its sender may not send."
    ANSWER_DROPPED = "answer dropped", "An answer was dropped, since the caller does not take its answers."
    LATE_ANSWER = "late answer", "An answer to a call came when no method waited for it any more."

    # LoginApp.
    LOGIN_ACCEPTED = "login accepted", "A player has a proxy and the key for it."
    LOGIN_ACCEPTED_TOO_LATE = "login accepted, session gone", "A proxy was made for a player whose session had ended."
    LOGIN_REFUSED = "login refused", "A login was refused; the 1st, 2nd, 4th, 8th … of each reason is logged."
    LOGINS_OVERLOADED = (
        "logins overloaded",
        "A load has gone above its bound: after a tolerance, logins are refused.",
    )
    LOGINS_OPEN = "logins open again", "Every load is within its bound again."
    LOGINS_WAIT = "logins wait", "There is no room for a player that may wait: the queue begins."
    LOGINS_WAIT_NO_MORE = "no login waits", "The last player in the queue was let in."
    LOGIN_SESSION_ENDED = "login session ended", "A session was ended because it sent more than one login request."

    # DBApp.
    DATABASE_AWAY = "database out of reach", "The database does not answer."
    DATABASE_BACK = "database within reach again", "The database answers again."
    STORE_FAILED = "store failed", "The database failed to carry out an operation."
    REQUEST_REFUSED = "request refused", "The DBApp refused a request of a peer."
    LOG_ON_REFUSED = "log-on refused", "A log-on was refused."
    LOG_ON_IN_DOUBT = (
        "log-on in doubt",
        "It is unknown whether a proxy exists; its record is kept until then.",
    )
    LOG_ONS_CLEARED = "log-ons cleared", "The log-on records of a BaseApp that has ended were removed."
    LOGGED_ON = "logged on", "A player is logged on."
    PLAYER_CREATED = "player created", "A new player was stored."
    STORED_FAILED = (
        "stored entity",
        "A stored entity that the game wanted to load or delete was not, and nothing waits.",
    )
    NOT_LOADED = "not loaded", "A stored entity was not loaded for the moment; the asker tries again."
    SAVED_LAYOUT = "saved layout", "The game saves something new; the stored records do not change."
    LEFTOVER = "leftover of the last run", "An entity that the last run could not save was found in a file."

    # BaseAppMgr, CellAppMgr.
    BASE_APP_JOINED = "BaseApp joined", "A BaseApp is part of the cluster."
    BASE_APP_LOST = "BaseApp lost", "The link with a BaseApp was lost."
    BOOTSTRAP = "bootstrap", "A BaseApp was chosen to run the game's start."
    PROXY_NOT_PLACED = "proxy not placed", "No BaseApp made a proxy for a player."
    PROXY_IN_DOUBT = "proxy in doubt", "It is unknown whether a BaseApp made a proxy for a player."
    NAME_HELD_TWICE = "name held twice", "Two bases have one name; the first one keeps it."
    CELL_APP_JOINED = "CellApp joined", "A CellApp is part of the cluster."
    CELL_APP_LOST = "CellApp lost", "The link with a CellApp was lost."
    CELL_APP_BACK = "CellApp is back", "A CellApp whose link was lost is linked again."
    SPACES_READY = "spaces ready", "All spaces have their cells."
    NO_ENTRY = "no entry", "No cell of a space can take an entity at a place."
    CELL_ADDED = "cell added", "A cell was added to a space."
    CELL_RETIRES = "cell retires", "A cell gives its ground to its neighbours."
    CELL_EMPTY = "cell empty", "A cell that retires has no real left."
    CELL_GROWS = "cell grows", "A new cell takes over its ground."
    CELL_REMOVED = "cell removed", "A cell has ended."
    SPACE_MADE = "space made", "The code of the game has made a space; one CellApp gets its cell."
    SPACE_ENDS = "space ends", "The code of the game ends a space that it has made."
    SPACE_ENDED = "space ended", "The last cell of a space that the code of the game has ended is gone."
    SPACE_UNUSED = "space unused", "The method that has asked for a space does not wait any more: the space is ended."
    SPACE_NOT_CHANGED = (
        "space not changed",
        "A change of a space that code of the game asked for was not made, and no method waits for it.",
    )
    BORDER_MOVED = "border moved", "A border between two cells was moved."

    # BaseApp: bases.
    CELL_APP_DEAD = "CellApp dead", "A CellApp was declared dead; its cell parts are lost."
    NO_CODE = "method without code", "A message calls a declared method that the game's class does not define."
    CELL_PART_LOST = "cell part lost", "The CellApp of a cell part is out of reach."
    CELL_PART_BACK = "cell part is back", "A cell part that counted as lost has sent a message."
    CELL_PART_AGAIN = "cell part asked for again", "A CellApp did not make a cell part, and another attempt is made."
    CELL_PART_WAITS = "next cell part waits", "A base waits long for the end of its former cell part."
    CELL_PART_ENDED = "cell part ended without last data", "A cell part ended, and its last values did not arrive."
    CELL_PART_GIVEN_UP = "cell part given up", "A base no longer waits for its cell part."
    CHANNEL_FULL = "cell part channel full", "A message for a cell part was not sent: too many wait for it already."
    CELL_DATA_UNEXPECTED = "unexpected cell data", "Values of a cell part came when the base had none."
    CELL_DATA_MALFORMED = (
        "cell data that does not decode",
        "Values of a cell part do not decode and are not used.",
    )
    CELL_DATA_MISSING = "cell part did not send its values", "A save does not have the newest values of the cell part."
    CREATION_FAILED = "creation failed", "An entity that code of the game asked for was not created."
    NAME_NOT_REGISTERED = (
        "name not registered",
        "A base did not get a name, and no method waits for it.",
    )
    SAVED_VALUE_MALFORMED = "bad saved value", "A stored property no longer fits its type, and has its default."
    SAVE_FAILED = "save failed", "A save failed, and is repeated later."
    LOG_OFF_NOT_RECORDED = "log-off not recorded", "The DBApp did not confirm a log-off, which is repeated."
    NO_ENTITY_IDS = "no entity ids", "The DBApp gave no entity ids; new entities wait for them."

    # BaseApp: clients.
    WRONG_KEY = "wrong login key", "A client showed a login key that was used, has expired or never was."
    WRONG_TOKEN = "wrong session token", "A client showed a session token that was used, has expired or never was."
    CLIENT_NEVER_CAME = "client never came", "A proxy ended, since its client did not connect in time."
    CLIENT_NOT_BACK = (
        "client did not come back",
        "A proxy without a client ended, since none came in time.",
    )
    CLIENT_RESUMED = "client resumed", "A client that lost its connection has resumed, with its session token."
    CLIENT_NOT_RESUMED = "client not resumed", "A client that lost its connection did not resume in time."
    CLIENT_TAKEN_OVER = "client taken over", "A second login of a player took over the proxy of the first."
    CLIENT_LOST = "client lost", "The session of a client has ended without a farewell."
    CLIENT_SENT_AWAY = "client sent away", "The server disconnected a client."
    CLIENT_MESSAGE_BAD = "bad client message", "A client sent a message that no client of this game sends."
    CALL_OVER_RATE = "call over its rate", "A client called a method more often than it may."
    CALL_DROPPED = "call dropped", "A client's call was dropped, since too many wait for the cell part."
    MESSAGE_TOO_LARGE = "message too large for a client", "A message for a client is larger than the channel takes."
    MESSAGE_FOR_CLIENT_BAD = "bad message for a client", "A cell part sent a message that is none for a client."
    UPDATES_MALFORMED = "updates that do not decode", "A CellApp sent updates for clients that do not decode."

    # CellApp: migration and ghosts.
    OFFLOAD_REFUSED = "offload refused", "The CellApp to which a real was sent did not take it; the real goes on here."
    OFFLOAD_NOT_TAKEN = "offload not taken", "This CellApp refused a real that a peer sent."
    OFFLOAD_RESTORED = "offload restored", "The CellApp to which a real was sent is dead; the real goes on here."
    OFFLOAD_MALFORMED = (
        "offload that does not decode",
        "A real that does not decode arrived, and was refused.",
    )
    OFFLOAD_ELSEWHERE = "copy of a real that lives elsewhere", "A kept copy was dropped, since the real was taken in."
    TOO_LARGE_TO_LEAVE = "too large to leave", "A real is too large for one message, so it stays in its cell."
    UNPACKABLE_TO_LEAVE = (
        "cannot be packed to leave",
        "A real has a value that cannot be packed, so it stays.",
    )
    TOO_LARGE_FOR_GHOST = (
        "too large for a ghost",
        "An entity is too large for one message, so a cell lacks its ghost.",
    )
    UNPACKABLE_FOR_GHOST = (
        "cannot be packed for a ghost", "An entity has a value that cannot be packed, so a cell has no ghost of it."
    )  # fmt: skip
    TOO_MANY_NEIGHBOURS = (
        "too many neighbours", "More CellApps need ghosts of a space than a CellApp can serve; some get none."
    )  # fmt: skip
    CREATION_REFUSED = "creation refused", "A cell part was not created."
    CONTROLLERS_MALFORMED = "controllers that do not decode", "A real arrived with controllers that do not decode."
    PARCEL_MALFORMED = "parcel that does not decode", "A message in several pieces cannot be put together."
    GHOST_OF_UNKNOWN_TYPE = "ghost of an unknown type", "A peer has an entity type that this CellApp does not have."
    GHOST_MALFORMED = "ghost that does not decode", "The state of a ghost does not decode."
    GHOST_AGAIN = "ghost created again", "A ghost was not confirmed in time, so its creation is sent again."
    GHOST_CREATION_LATE = "ghost creation too late", "The creation of a ghost came after a newer message about it."
    GHOST_DELETION_LATE = "ghost deletion too late", "The deletion of a ghost came after a newer message about it."
    STEP_MALFORMED = "step that does not decode", "A step of a ghost, or a part of it, does not decode."
    PLACES_MALFORMED = "places that do not decode", "The places of ghosts do not decode."
    GAP_PASSED_OVER = "gap passed over", "Messages about a ghost are missing, and it goes on without them."
    SNAPSHOT_ASKED = "snapshot asked for", "Messages about a ghost are missing, so its whole state was asked for."
    HELD_STEPS_GIVEN_UP = (
        "held steps given up",
        "Too many steps of a ghost came early; some were dropped.",
    )
    HELD_TRANSITIONS_GIVEN_UP = (
        "held transitions given up", "Too many creations and deletions of a ghost came early; some were dropped."
    )  # fmt: skip
    TRANSITION_NOT_EARLY = (
        "transition that cannot be early", "A creation or deletion of a ghost has the number of an earlier one."
    )  # fmt: skip
    TREE_MALFORMED = "tree that does not decode", "The manager sent a tree of a space that does not decode."
    CELL_REMOVAL_WRONG = (
        "removal of a cell that is there",
        "The manager reported the removal of a cell that is in use.",
    )

    # CellApp: clients.
    MOVES_MALFORMED = "moves that do not decode", "A BaseApp sent moves of clients that do not decode."
    MOVE_TOO_FAST = "move too fast", "A client moved its body faster than it may; the body stays."
    MOVE_OUT_OF_BOUNDS = "move out of bounds", "A client moved its body to a place outside the world; the body stays."
    ALIAS_RELEASED_WRONGLY = (
        "release of an alias that is in use or free", "A client released an alias without the leave of its entity."
    )  # fmt: skip
    NO_ALIAS = "no alias left", "A client has as many entities as there are aliases; a further one waits."
    DESCRIBED_UNASKED = "described unasked", "A client did not answer an announcement; it gets the description anyway."
    CLIENT_FULL = (
        "more than fits into a tick",
        "Unreliable messages for a client were dropped: too many in one tick.",
    )
    BASE_NOT_SENT = "message to the base not sent", "A cell part could not send a message to its base."
    PROPERTY_TOO_LARGE = (
        "property too large to be sent",
        "A changed property is larger than a message, and was not sent.",
    )

    # Clients that run in Python.
    CLIENT_VIOLATION = "client violation", "A client received a message that does not fit what it received before."
    CLIENT_RECONNECTS = "client reconnects", "A client has lost its connection and tries to resume."
    CLIENT_OVER = "client over", "A client has ended with an error."
    BOT_OUT = "bot is out", "A bot has left the world, and logs in again."

    # Console.
    NO_VIEW = "no view", "An app did not answer the console."
    VIEW_MALFORMED = "view that does not decode", "An app sent the console a view that does not fit."


class Count(EventName):
    """What is only counted."""

    REFUSED = "refused", "Items that peers sent and that were not accepted, for any reason."
    LATE_REPLY = "late replies", "A reply came after the time of its request."
    FORWARDED = "forwarded", "A frame was passed on to the app to which its part has moved."
    TOO_MANY_HOPS = "too many hops", "A frame was dropped, since it was passed on too often."
    RESENT = "resent", "A frame was sent again, since it was not acknowledged in time."
    LOCATED = "located", "The place of a part was looked up, since it was unknown or did not answer."

    OLD_MAIL = "old mail", "A message for a client was dropped: it was for an earlier client, or from a former home."


class EventCounts(Counter[LogEvent | Count]):
    """How often each event occurred in one app."""

    def add(self, event: LogEvent | Count) -> int:
        """Counts one more; returns how many there are now."""
        self[event] += 1
        return self[event]
