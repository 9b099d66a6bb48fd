"""Words that passwords are made of most often: names, teams, keys in a row, and what is on a desk.

No entry is taken from a published list.
"""

COMMON_WORDS = """
access account admin administrator adobe alexander alpha amanda america amsterdam andrea andrew
angel angela anthony apple april arsenal ashley asshole august austin autumn awesome azerty
babygirl badboy bailey banana barbara barcelona baseball basketball batman beautiful berlin bigdog
biteme blahblah blessed blink bonjour booboo boomer boston brandon bubbles buddy butterfly
california canada captain carlos carolina casino cassie chan change changeit changeme charles
charlie cheese chelsea chester chicago chicken chocolate chris christ christian christmas classic
coffee computer cookie corvette cowboy cowboys creative crystal daddy dallas daniel daniela
danielle database david december default demo denver desktop diamond doctor dolphin dragon eagle
eagles edward einstein elephant elizabeth eminem emmanuel england enter everton facebook faith
falcon family fantasy february ferrari filter flower football forever forgot france frank freedom
friday friend friends fuck fucker fuckoff fuckyou gandalf garfield george germany giants ginger
god golden goldfish golfer good google grace guest guitar gunner hahaha hallo hammer hannah happy
hardcore harley hello helpme hockey hola home honda hotdog hottie house hunter hunting iceman
ihateyou iloveme iloveu iloveyou install internet iwantu jackson jamaica james january jasmine
jasper jennifer jeremy jessica jesus johnson jonathan jordan jordan23 joseph joshua july june
junior justin katie keeper kevin killer king kitty knight kristina ladybug lakers laptop lauren
leather legend letmein letmeinnow liberty linkedin linux little liverpool login london loulou love
lovely lover loveyou lucky madison maggie manager manchester march marina marine marlboro marvin
master matrix matthew maverick maxwell mercedes merlin mexico michael michelle michigan mickey
midnight miller minecraft mobile monday money monica monkey monster morgan mother mountain mustang
mylove myspace naruto nascar natasha network newpassword newyork nicholas nicole ninja nirvana
nissan nothing november october office oliver online oracle orange owner panther paris parola
partner pass passe passer passphrase passw0rd passwd password passwort patrick peaches peanut
pepper peter phoenix please pokemon police porsche portal possible postgres power prince princess
private public purple qazwsx qwert qwerty qwertz rabbit rachel rainbow ranger raspberry realmadrid
rebecca redskins redwings remember richard robert rocket root rosebud runner russia sakura
samantha samsung samuel sandra saturday scooter scorpion scott secret secure security september
server service sex shadow shannon shelby sierra silver simple single skywalker slayer slipknot
smokey snoopy snowball soccer software something sophie spider spiderman spring starwars steelers
stella stephanie steven summer sunday sunflower sunshine super superman superstar superuser
support sweet sweety swordfish sydney system taylor teacher techno temp temporary tennis test
tester testing texas thanks theman thomas thunder thursday tiffany tiger tigers time tinkerbell
today tomcat toyota travel trinity trouble trustme trustno tuesday turtle twitter unknown user
vampire vanessa victor victoria victory viking virginia volcom wachtwoord warrior watson website
wednesday welcome whatever william wilson windows winner winston winter wisdom wizard wolf
wolverine woman world xavier yamaha yankee yankees yellow you young zaq
"""
"""In lower case, with white space between."""
