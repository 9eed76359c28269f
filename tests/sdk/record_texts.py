"""Texts whose records are not indented: only the first line of each says what its other lines are about."""

FAMILY = """\
0 HEAD
1 CHAR UTF-8
0 @P1@ PERS
1 NAME Tora Vik
1 BORN
2 DATE 4 MAY 1901
2 PLAC Askim
1 DIED
2 DATE 9 JUN 1970
0 @P2@ PERS
1 NAME Nils Vik
1 BORN
2 PLAC Hamar
0 END
"""
STATEMENT = """\
:20:STM1
:25:NO55
:60F:C10,00
:61:0102C5,00
:86:Gift of Tora
:61:0103D7,50
:86:Rent to Nils
:62F:C7,50
-
:20:STM2
:25:NO66
:60F:C20,00
:61:0104C9,00
:86:Wage of Else
:61:0105D1,25
:86:Fare to Ivar
:62F:C27,75
-
"""
CASH_BOOK = """\
!Account
NHarbour box
TCash
^
!Type:Cash
D3/4/2021
T-7.50
PTora Vik
Lfish
^
D3/5/2021
T-8.25
PNils Vik
Lrope
^
D3/6/2021
T-9.75
PElse Moe
Lsalt
^
!Account
NShed box
TCash
^
!Type:Cash
D4/4/2021
T-1.50
PIvar Moe
Ltar
^
D4/5/2021
T-2.25
PAnne Lie
Loil
^
"""
PROCESSES = """\
p31
csh
u500
fcwd
n/home/tora
f1
n/dev/tty1
p42
ced
u501
fcwd
n/home/nils
f3
n/tmp/letter
p53
cls
u500
fcwd
n/home/else
f1
n/dev/tty2
"""
TESTS = """\
MSH|A|LAB|1|P
PID|1|77|VIK^TORA
OBR|1|Blood
OBX|1|Sodium|141
OBX|2|Iron|17
NTE|1|checked twice
OBR|2|Water
OBX|1|Sodium|12
OBX|2|Iron|3
MSH|A|LAB|2|P
PID|1|78|MOE^ELSE
OBR|1|Blood
OBX|1|Sodium|139
OBX|2|Iron|21
NTE|1|taken late
OBR|2|Water
OBX|1|Sodium|11
"""
HOSTS = """\
Host pier
HostName 10.1.1.1
User tora
Port 2201
Host dock
HostName 10.1.1.2
User nils
Port 2202

Host quay
HostName 10.1.1.3
User else
Port 2203
"""
FILTER = """\
*filter
:IN DROP [1:2]
:OUT ACCEPT [3:4]
-A IN -s 10.1.1.1/32 -j LOG
-A OUT -s 10.1.1.2/32 -j DROP
COMMIT
*nat
:IN ACCEPT [5:6]
:OUT DROP [7:8]
-A OUT -s 10.1.1.3/32 -j LOG
COMMIT
"""
BUILD = """\
make[1]: Entering directory '/src/pier'
  CC      a.o
cc -O2 -c -o b.o b.c
make[1]: *** [Makefile:7: b.o] Error 1
make[1]: Leaving directory '/src/pier'
make[1]: Entering directory '/src/dock'
  CC      c.o
  CC      d.o
cc -O2 -c -o e.o e.c
make[1]: Leaving directory '/src/dock'
make[1]: Entering directory '/src/quay'
cc -O2 -c -o f.o f.c
make[1]: *** [Makefile:9: f.o] Error 2
make[1]: Leaving directory '/src/quay'
make[1]: Entering directory '/src/shed'
  CC      g.o
cc -O2 -c -o h.o h.c
make[1]: Leaving directory '/src/shed'
"""
CHANGES = """\
%changelog
* Thu Nov 06 2025 Tora Vik <tora@example.org> - 1.4-1
- Fix the lamp of the pier (#417)
- Fix the lock of the dock (#418)

* Thu Nov 13 2025 Nils Vik <nils@example.org> - 1.5-1
- Fix the rope of the quay (#517)
- Fix the gate of the dock (#518)

* Thu Nov 20 2025 Else Moe <else@example.org> - 1.6-1
- Fix the door of the shed (#617)
"""
PLAYLIST = """\
#EXTM3U
#EXTINF:210 group="Sea",North Pier
http://10.1.1.1/1.mp3
#EXTINF:180 group="Land",Old Dock
#EXTGRP:evening
http://10.1.1.2/2.mp3
#EXTINF:240 group="Sea",Blue Quay
http://10.1.1.3/3.mp3
#EXTINF:200 group="Land",Red Shed
http://10.1.1.4/4.mp3
"""
MAPS = """\
7f01a000-7f02b000 r-xp 00000000 /lib/pier.so
Size:   12 kB
Rss:     8 kB
Flags: rd ex
7f03c000-7f04d000 r--p 00001000 /lib/dock.so
Size:   16 kB
Rss:     4 kB
Flags: rd
7f05e000-7f06f000 rw-p 00002000 /lib/quay.so
Size:   20 kB
Rss:     2 kB
Flags: rd wr
"""
FILES = """\
  File: /etc/pier.conf
  Size: 410         Blocks: 8          regular file
Access: (0644/-rw-r--r--)
Modify: 2021-03-04 10:00:00
 Birth: -
  File: /etc/dock.conf
  Size: 420         Blocks: 8          regular file
Access: (0600/-rw-------)
Modify: 2021-03-05 11:00:00
 Birth: -
"""
LOCALE = """\
LC_COLLATE
copy "quay"
END LC_COLLATE

LC_MONETARY
currency_symbol "kr"
mon_grouping 3;3
END LC_MONETARY

LC_TIME
week 7
first_day 2
END LC_TIME
"""

ACCOUNTS = """\
OFXHEADER:100

<OFX>
<STMTRS>
<ACCTID>5511
<STMTTRN>
<TRNAMT>7.50
<NAME>Tora Vik
</STMTTRN>
<STMTTRN>
<TRNAMT>8.25
<NAME>Nils Vik
</STMTTRN>
</STMTRS>
<STMTRS>
<ACCTID>5522
<STMTTRN>
<TRNAMT>9.75
<NAME>Else Moe
</STMTTRN>
</STMTRS>
</OFX>
"""
ROWS = """\
    id = 1
  name = pier
 price = 31
remark = wet

    id = 2
  name = dock
 price = 42
remark = dry

    id = 3
  name = quay
 price = 53
remark = old
"""
ENTRIES = """\
version: 1

dn: uid=tora,dc=pier
changetype: modify
replace: mail
mail: tora@pier
-
add: title
title: smith
-

dn: uid=nils,dc=pier
changetype: modify
replace: mail
mail: nils@pier
-
delete: title
title: judge
-
"""
HEADERS = """\
File: /lib/pier.so
ELF Header:
  Class:   ELF64
  Type:    DYN
  Entry:   0x31

File: /lib/dock.so
ELF Header:
  Class:   ELF32
  Type:    EXEC
  Entry:   0x42
"""
LICENCES = """\
Files: *
Copyright: 1998 Ada Moe, keeper of the pier
License: OAK-1

Files: crane.c
Copyright: 2005 Ben Roy, keeper of the yard
License: OAK-1

License: OAK-1
Comment: see the yard of the pier, north of it
"""
PRICES = r"""
\begin{tabular}{lr}
Part & Price \\ \hline
rope & 7 \\
lamp & 8 \\
\end{tabular}
"""
VERSIONS = """\
crane:
  Installed: 1.2
  Candidate: 1.3
  Table:
 *** 1.2 500
        500 http://yard.example stable
lamp:
  Installed: 2.1
  Candidate: 2.2
  Table:
 *** 2.1 500
        500 http://pier.example stable
"""
